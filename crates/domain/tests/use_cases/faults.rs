//! The use cases over a store that fails: a simulation that is the same in every run.
//!
//! Each random sequence of operations runs twice for each call of a port that it makes. The call fails before its
//! effect in the first run, and after its effect in the second. At the end of a run, the store is compared with a
//! model.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use petstore_domain::{
    AddError, ApiKeySecret, Catalogue, CategoryId, Clock, CursorPosition, Idempotency,
    IdempotencyKey, KeyChangeError, KeyDigest, KeyName, KeyRing, KeySelector, NewApiKey, NewPet,
    PageLimit, Pet, PetName, PetQuery, PetRepository, PetService, PetStatus, StoreError, Timestamp,
    add_key, load_keys, revoke_keys, roll_key,
};

use crate::{
    faulty::{Fails, FaultyStore},
    model::Model,
};

/// The number of sequences.
const SEEDS: u64 = 4;
/// The number of operations in a sequence.
const OPERATIONS: usize = 80;
/// The time for which the old key of a roll stays valid.
const OVERLAP: Duration = Duration::from_secs(90);
/// The steps by which an operation may advance the clock.
const STEPS: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(600),
    Duration::from_secs(100),
    Duration::from_hours(13),
];

/// A clock that a simulation advances.
struct TestClock(AtomicI64);

impl TestClock {
    fn advance(&self, step: Duration) {
        self.0.store(self.now().plus(step).0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

struct Simulation {
    store: Arc<FaultyStore>,
    clock: Arc<TestClock>,
    catalogue: Catalogue,
    ring: KeyRing,
    model: Model,
    /// The number of operations that failed with an error of the store.
    failures: usize,
    /// The number of secrets made so far. Each secret is made from its number.
    secrets: u8,
}

impl Simulation {
    fn new(fault: Option<(u64, Fails)>) -> Self {
        let store = Arc::new(FaultyStore::new(fault));
        let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000_000)));
        Self {
            catalogue: Catalogue::new(store.clone(), clock.clone()),
            ring: KeyRing::new(store.clone(), clock.clone(), None),
            store,
            clock,
            model: Model::default(),
            failures: 0,
            secrets: 0,
        }
    }

    /// Compares the outcome of an operation with the model. The model runs the operation too, unless it failed before
    /// its effect. Returns whether the operation failed.
    fn check<T: PartialEq + Debug>(
        &mut self,
        outcome: Result<T, StoreError>,
        expected: impl FnOnce(&mut Model) -> T,
    ) -> bool {
        match outcome {
            Ok(outcome) => assert_eq!(outcome, expected(&mut self.model)),
            Err(error) => {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                self.failures += 1;
                if self.store.had_effect() {
                    expected(&mut self.model);
                }
                return true;
            }
        }
        false
    }

    async fn run(&mut self, random: &mut Rng) {
        match random.u8(..13) {
            0..3 => self.add(random).await,
            3 => self.get(random).await,
            4 => self.walk(random).await,
            5 | 6 => self.clock.advance(STEPS[random.usize(..STEPS.len())]),
            7 | 8 => self.change_keys(random).await,
            9..12 => self.authenticate(random).await,
            _ => {
                let purged = self.catalogue.purge_expired_records().await;
                self.check(purged, |_| false);
                let written = self.ring.write_back_uses().await;
                self.check(written, |_| ());
            }
        }
    }

    async fn add(&mut self, random: &mut Rng) {
        let pet = NewPet {
            name: PetName::parse(["Rex", "Ada"][random.usize(..2)]).unwrap(),
            category_id: CategoryId(1),
            status: random.bool().then_some(PetStatus::Sold),
        };
        let key = random.bool().then(|| random.u8(..4));
        // A client without an answer sends the request again if it has an idempotency key.
        while self.try_add(&pet, key).await && key.is_some() {}
    }

    async fn try_add(&mut self, pet: &NewPet, key: Option<u8>) -> bool {
        let idempotency = key.map(|key| Idempotency {
            caller: KeyDigest([1; 32]),
            key: IdempotencyKey::parse(key.to_string()).unwrap(),
        });
        let added = match self.catalogue.add(pet.clone(), idempotency).await {
            Ok(added) => Ok(Some(added)),
            Err(AddError::IdempotencyKeyReused) => Ok(None),
            Err(AddError::Store(error)) => Err(error),
        };
        let now = self.clock.now();
        self.check(added, |model| model.add(pet.clone(), key, now).ok())
    }

    async fn get(&mut self, random: &mut Rng) {
        let Some(pet) = random.choice(&self.model.pets).cloned() else { return };
        let found = self.catalogue.get(pet.id).await;
        self.check(found.map(|found| found.value.unwrap()), |_| pet);
    }

    async fn walk(&mut self, random: &mut Rng) {
        let status = random.bool().then_some(PetStatus::Sold);
        let mut query = PetQuery { limit: PageLimit::new(3).unwrap(), status, after: None };
        let mut walked: Vec<Pet> = Vec::new();
        loop {
            let page = match self.catalogue.list(query).await {
                Ok(page) => page.value,
                Err(error) => {
                    self.check(Err::<(), _>(error), |_| ());
                    continue; // Reads the same page again.
                }
            };
            walked.extend_from_slice(&page.pets);
            let Some(position) = CursorPosition::following(&page, &query) else { break };
            query = position.resume(query.limit, status).unwrap();
        }
        let matching = |pet: &&Pet| status.is_none() || pet.status == status;
        assert_eq!(walked, self.model.pets.iter().filter(matching).cloned().collect::<Vec<_>>());
    }

    async fn change_keys(&mut self, random: &mut Rng) {
        let (number, now) = (random.u8(..2), self.clock.now());
        let name = KeyName::parse(["web", "app"][usize::from(number)]).unwrap();
        self.secrets += 1;
        let new = self.secrets;
        let key = NewApiKey::new(name.clone(), &secret(new), now, None);
        match random.u8(..3) {
            0 => {
                let created = is_done(add_key(&*self.store, key).await.map(drop));
                self.check(created, |model| model.create_key(number, new, now));
            }
            1 => {
                let retire_at = now.plus(OVERLAP);
                let rolled = is_done(roll_key(&*self.store, key, retire_at).await.map(drop));
                self.check(rolled, |model| model.roll_key(number, new, retire_at, now));
            }
            _ => {
                let revoked = revoke_keys(&*self.store, KeySelector::Name(name), now).await;
                let revoked = revoked.map(|keys| keys.len());
                self.check(revoked, |model| model.revoke_keys(number));
            }
        }
    }

    async fn authenticate(&mut self, random: &mut Rng) {
        let stored = random.choice(&self.model.keys).map_or(0, |key| key.secret);
        let presented = if random.bool() { stored } else { self.secrets };
        let check = self
            .ring
            .refresh()
            .await
            .map(|()| self.ring.check(&secret(presented), Some(Duration::ZERO)));
        let now = self.clock.now();
        self.check(check.map(|caller| caller.is_ok()), |model| model.is_granted(presented, now));
    }

    /// Checks that the store has exactly the animals and API keys of the model.
    async fn finish(self) {
        let all = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
        let page = PetRepository::list(&self.store.inner, all).await.unwrap().value;
        assert_eq!(page.pets, self.model.pets);
        let keys = load_keys(&self.store.inner).await.unwrap().keys;
        assert_eq!(keys.len(), self.model.keys.len());
        for (key, expected) in keys.iter().zip(&self.model.keys) {
            assert_eq!(key.digest, secret(expected.secret).digest());
            assert_eq!(key.expires_at, expected.expires_at);
            assert_eq!(key.revoked_at.is_some(), expected.is_revoked);
        }
        assert!(self.failures <= 1, "one fault failed {} operations", self.failures);
    }
}

/// Runs the operations of a seed. Returns the number of calls, and whether an operation failed.
async fn simulate(seed: u64, fault: Option<(u64, Fails)>) -> (u64, bool) {
    let mut random = Rng::with_seed(seed);
    let mut simulation = Simulation::new(fault);
    for _ in 0..OPERATIONS {
        simulation.run(&mut random).await;
    }
    let done = (simulation.store.calls(), simulation.failures > 0);
    simulation.finish().await;
    done
}

#[tokio::test]
async fn a_failure_of_any_call_loses_and_doubles_nothing() {
    let (mut faults, mut failures) = (0, 0);
    for seed in 0..SEEDS {
        let (calls, failed) = simulate(seed, None).await;
        assert!(!failed && calls > 20, "{calls}");
        for fault in (0..calls).flat_map(|call| [(call, Fails::Before), (call, Fails::After)]) {
            let (_, failed) = simulate(seed, Some(fault)).await;
            faults += 1;
            failures += u32::from(failed);
        }
    }
    assert_eq!(failures, faults, "a fault failed no operation");
}

/// Returns whether keys were changed; `false` if a rule refused the change.
fn is_done(changed: Result<(), KeyChangeError>) -> Result<bool, StoreError> {
    match changed {
        Ok(()) => Ok(true),
        Err(KeyChangeError::Store(error)) => Err(error),
        Err(
            KeyChangeError::NameTaken
            | KeyChangeError::NoSuchKey
            | KeyChangeError::TooManyKeys(_)
            | KeyChangeError::TooManyOfOneName(_),
        ) => Ok(false),
    }
}
