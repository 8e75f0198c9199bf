//! The store and a model of its content, driven by the same random commands.

use std::collections::{BTreeMap, HashMap};

use fastrand::Rng;
use petstore_domain::{
    AddError, Added, ApiKey, IdempotencyId, IdempotencyRecord, IdempotencyRequest, KeyId, Pet,
    Timestamp,
};

use crate::{
    calls::{all_keys, load, purge, save, walk},
    failure::{Failure, PromiseResult, ensure, ensure_eq, ensure_eq_lists, tried},
    fixture::Fixture,
    harness::Store,
    samples::{self, NO_LIMIT, STATUSES, at, key, numbered},
};

/// The environment variable with the seed of a run. A broken promise prints its seed.
pub const SEED_VARIABLE: &str = "PETSTORE_CONFORMANCE_SEED";

const STEPS: u16 = 400;
/// The lifetime of requests in these runs, in milliseconds.
const LIFETIME: i64 = 20;
const KEY_NAMES: [&str; 4] = ["web", "Web", "shop", "x"];
const IDEMPOTENCY_KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Spans of time in milliseconds. They are short, so that many times lie exactly at a boundary.
const SPANS: [i64; 4] = [0, 1, 2, 5];

/// Contract: the store and the model agree over 400 random commands.
pub(super) async fn random_commands_do_as_the_model_does(fixture: Fixture) -> PromiseResult {
    let named = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
    let seed = named.unwrap_or_else(|| fastrand::u64(..));
    let mut run = Run { random: Rng::with_seed(seed), ..Run::default() };
    for step in 0..STEPS {
        run.now += run.random.i64(0..4);
        let store = fixture.handle(run.random.usize(..2));
        tried(&format!("{SEED_VARIABLE}={seed}, step {step}"), run.step(store, step).await)?;
    }
    Ok(())
}

/// The time, and the expected content of a store. The model takes identifiers from the store, which may assign any
/// ascending identifiers.
#[derive(Default)]
struct Run {
    random: Rng,
    now: i64,
    pets: Vec<Pet>,
    records: HashMap<IdempotencyId, IdempotencyRecord>,
    keys: BTreeMap<KeyId, ApiKey>,
    /// The highest identifier of a key that was ever assigned.
    highest: Option<KeyId>,
}

impl Run {
    /// Carries out a random command. No two steps create the same API key.
    async fn step(&mut self, store: &Store, step: u16) -> PromiseResult {
        match self.random.u32(..14) {
            0..=5 => self.add(store).await,
            6 => {
                let (cutoff, before) = (at(self.now - LIFETIME + self.span()), self.records.len());
                self.records.retain(|_, record| record.at > cutoff);
                let purged = purge(store, cutoff, NO_LIMIT).await?;
                ensure_eq("purged records", &(purged as usize), &(before - self.records.len()))
            }
            7 | 8 => self.add_key(store, step).await,
            9 => self.end_key(store).await,
            10 => {
                let id = self.some_id();
                self.keys.remove(&id);
                save(store, vec![], vec![id]).await
            }
            11 => self.note_use(store).await,
            _ => self.compare(store).await,
        }
    }

    fn span(&mut self) -> i64 {
        one_of(&mut self.random, &SPANS)
    }

    /// Returns a time that has passed, or `None`.
    fn past(&mut self) -> Option<Timestamp> {
        self.random.bool().then(|| at(self.now - self.span()))
    }

    /// Returns the identifier of a random key, or an unused identifier.
    fn some_id(&mut self) -> KeyId {
        let number = self.random.usize(..=self.keys.len());
        self.keys.keys().nth(number).copied().unwrap_or(KeyId(i64::MAX - 1))
    }

    async fn add(&mut self, store: &Store) -> PromiseResult {
        let pet = numbered(self.random.usize(..4));
        let has_key = self.random.u32(..3) > 0;
        let request = has_key.then(|| IdempotencyRequest {
            cutoff: at(self.now - LIFETIME),
            ..samples::request(one_of(&mut self.random, &IDEMPOTENCY_KEYS), &pet, self.now)
        });
        // Adapters call the domain's rule. This copy of the rule notices a fault in that one.
        let live = request.and_then(|request| {
            let record = self.records.get(&request.id).filter(|it| it.at > request.cutoff)?;
            Some((record.fingerprint == request.fingerprint).then_some(record.pet))
        });
        match (store.pets.add(pet.clone(), request).await, live) {
            (Ok(Added::Created(added)), None) => {
                let record = request.map(|request| request.into_record(added.id));
                self.records.extend(record.map(|record| (record.id, record)));
                self.pets.push(pet.with_id(added.id));
                Ok(())
            }
            (Ok(Added::Replayed(found)), Some(Some(id))) => {
                ensure_eq("a repeat", &found, &pet.with_id(id))
            }
            (Err(AddError::IdempotencyKeyReused), Some(None)) => Ok(()),
            (end, live) => {
                Err(Failure::new(format!("{request:?}: {end:?}, and the record is {live:?}")))
            }
        }
    }

    async fn add_key(&mut self, store: &Store, seed: u16) -> PromiseResult {
        let name = one_of(&mut self.random, &KEY_NAMES);
        let expires = self.random.bool().then(|| self.now + self.span() + 1);
        let id = load(store).await?.next_id;
        ensure!(Some(id) > self.highest, "{id:?} is not above all earlier ones");
        let new = key(seed, name, self.now, expires).with_id(id);
        save(store, vec![new.clone()], vec![]).await?;
        self.highest = Some(id);
        self.keys.insert(id, new);
        Ok(())
    }

    /// Changes the end of a key. The saved key also has another last use, which the store must ignore.
    async fn end_key(&mut self, store: &Store) -> PromiseResult {
        let (id, expires_at, revoked_at) = (self.some_id(), self.past(), self.past());
        let Some(key) = self.keys.get_mut(&id) else { return Ok(()) };
        (key.expires_at, key.revoked_at) = (expires_at, revoked_at);
        let saved = ApiKey { last_used_at: expires_at, ..key.clone() };
        save(store, vec![saved], vec![]).await
    }

    async fn note_use(&mut self, store: &Store) -> PromiseResult {
        let (id, used) = (self.some_id(), at(self.now - self.span()));
        if let Some(key) = self.keys.get_mut(&id) {
            key.last_used_at = key.last_used_at.max(Some(used));
        }
        Ok(store.keys.note_uses(vec![(id, used)]).await?)
    }

    async fn compare(&mut self, store: &Store) -> PromiseResult {
        let status = one_of(&mut self.random, &STATUSES);
        let limit = one_of(&mut self.random, &[1, 2, 3, 20, 100]);
        let keys: Vec<_> = self.keys.values().cloned().collect();
        ensure_eq_lists("the keys", &all_keys(store).await?, &keys)?;
        let mut expected = self.pets.clone();
        expected.retain(|pet| status.is_none() || pet.status == status);
        ensure_eq_lists("the animals", &walk(store, limit, status).await?, &expected)
    }
}

/// Returns a random element of a slice that is not empty.
fn one_of<T: Clone>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())].clone()
}
