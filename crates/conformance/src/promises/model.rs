//! The store and the model, driven by the same random commands.

use fastrand::Rng;
use petstore_domain::{AddError, Added, ApiKey, IdempotencyRequest, KeyId, NewPet};

use super::keys::{listed, loaded, save};
use crate::{
    calls::{purge, walk},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists},
    fixture::Fixture,
    harness::Store,
    model::{Addition, Command, KeyModel, PetModel},
    random::{SEED_VARIABLE, seed},
    samples::{self, NO_LIMIT, at, key},
};

const STEPS: u16 = 400;
/// The lifetime of requests in these runs, in milliseconds.
const LIFETIME: i64 = 20;

/// Contract: the store and the model agree over 400 random commands.
pub(super) async fn random_commands_do_as_the_model_does(fixture: Fixture) -> PromiseResult {
    let seed = seed();
    let mut random = Rng::with_seed(seed);
    let mut run = Run {
        store: fixture.store().clone(),
        pets: PetModel::default(),
        keys: KeyModel::default(),
        now: 0,
    };
    for step in 0..STEPS {
        run.now += random.i64(0..4);
        run.store = fixture.handle(random.usize(..2)).clone();
        let command = Command::choose(&mut random, step);
        let context = format!("{SEED_VARIABLE}={seed}, step {step}, {command:?}");
        run.step(command).await.map_err(|failure| failure.context(context))?;
    }
    Ok(())
}

/// A store, its model, and the time.
struct Run {
    store: Store,
    pets: PetModel,
    keys: KeyModel,
    now: i64,
}

impl Run {
    async fn step(&mut self, command: Command) -> PromiseResult {
        match command {
            Command::Add { pet, key } => self.add(pet, key).await,
            Command::Purge { age } => {
                let cutoff = at(self.now - LIFETIME + age);
                let purged = purge(&self.store, cutoff, NO_LIMIT).await?;
                ensure_eq("purged", &purged, &self.pets.purge(cutoff))
            }
            Command::AddKey { seed, name, lifetime } => self.add_key(seed, name, lifetime).await,
            Command::EndKey { number, expires, revoked } => {
                self.end_key(number, expires, revoked).await
            }
            Command::RemoveKey { number } => {
                let id = self.keys.some_id(number);
                self.keys.remove(id);
                save(&self.store, vec![], vec![id]).await
            }
            Command::NoteUse { number, ago } => self.note_use(number, ago).await,
            Command::Compare { limit, status } => {
                ensure_eq_lists("the keys", &listed(&self.store).await?, self.keys.list())?;
                let pets = walk(&self.store, limit, status).await?;
                ensure_eq_lists("the animals", &pets, &self.pets.all(status))
            }
        }
    }

    async fn add(&mut self, pet: NewPet, key: Option<&str>) -> PromiseResult {
        let request = key.map(|key| IdempotencyRequest {
            cutoff: at(self.now - LIFETIME),
            ..samples::request(key, &pet, self.now)
        });
        let expected = self.pets.addition(request.as_ref());
        match self.store.pets.add(pet.clone(), request).await {
            Ok(Added::Created(added)) => {
                ensure_eq("added", &Addition::Created, &expected)?;
                ensure_eq("the animal", &added, &pet.with_id(added.id))?;
                ensure!(Some(added.id) > self.pets.highest(), "{} is not above all", added.id);
                self.pets.add(added, request);
                Ok(())
            }
            Ok(Added::Replayed(found)) => {
                ensure_eq("a repeat", &Addition::Replayed(found), &expected)
            }
            Err(AddError::IdempotencyKeyReused) => {
                ensure_eq("refused", &Addition::Reused, &expected)
            }
            Err(error @ AddError::Store(_)) => Err(error.into()),
        }
    }

    async fn add_key(&mut self, seed: u16, name: &str, lifetime: Option<i64>) -> PromiseResult {
        let new = key(seed, name, self.now, lifetime.map(|lifetime| self.now + lifetime));
        let id = loaded(&self.store).await?.next_id;
        ensure!(self.keys.is_above_all(id), "{id:?} is not above all");
        let new = new.with_id(id);
        save(&self.store, vec![new.clone()], vec![]).await?;
        self.keys.add(new);
        Ok(())
    }

    async fn end_key(
        &mut self,
        number: u32,
        expires: Option<i64>,
        revoked: Option<i64>,
    ) -> PromiseResult {
        let Some(key) = self.keys.some_key(number) else { return Ok(()) };
        // Writes the key like a caller with another state of the key.
        let [expires_at, revoked_at] =
            [expires, revoked].map(|ago| ago.map(|ago| at(self.now - ago)));
        let ended = ApiKey { expires_at, revoked_at, last_used_at: expires_at, ..key.clone() };
        self.keys.save(&ended);
        save(&self.store, vec![ended], vec![]).await
    }

    async fn note_use(&mut self, number: u32, ago: i64) -> PromiseResult {
        let (id, at) = (self.keys.some_id(number), at(self.now - ago));
        self.keys.note_use(id, at);
        let revision = loaded(&self.store).await?.revision;
        // The first key does not exist.
        self.store.keys.note_uses(vec![(KeyId(i64::MAX - 2), at), (id, at)]).await?;
        ensure_eq("the keys after a use", &self.store.keys.load(Some(revision)).await?, &None)
    }
}
