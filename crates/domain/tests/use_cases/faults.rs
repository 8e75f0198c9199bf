//! The use cases over a store that fails: a simulation that is the same in every run.
//!
//! Each random sequence of operations runs twice for each call of a port that it makes. The call fails before its
//! effect in the first run, and after its effect in the second. The caller repeats the failed operation. At the end,
//! the store holds the same rows as after the run without a failure.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use petstore_domain::{
    AddError, ApiKey, ApiKeySecret, Catalogue, CategoryId, Clock, Idempotency, IdempotencyKey,
    KeyChangeError, KeyDigest, KeyName, KeyRing, KeySelector, KeyState, NewApiKey, NewPet,
    PageLimit, Pet, PetName, PetQuery, PetService, StoreError, Timestamp, add_key, load_keys,
    revoke_keys, roll_key,
};

use crate::faulty::{Fails, FaultyStore};

/// The number of sequences.
const SEEDS: u64 = 4;
/// The number of operations in a sequence.
const OPERATIONS: u8 = 24;
const NOW: Timestamp = Timestamp(1_800_000_000_000);

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        NOW
    }
}

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

struct Simulation {
    store: Arc<FaultyStore>,
    catalogue: Catalogue,
    ring: KeyRing,
}

impl Simulation {
    fn new(fault: Option<(u64, Fails)>) -> Self {
        let store = Arc::new(FaultyStore::new(fault));
        let catalogue = Catalogue::new(store.clone(), Arc::new(Stopped));
        let ring = KeyRing::new(store.clone(), Arc::new(Stopped), None);
        Self { store, catalogue, ring }
    }

    /// Carries out one operation. An addition and a new API key are made from `number`.
    async fn run(&self, number: u8, random: &mut Rng) -> Result<(), StoreError> {
        let name = KeyName::parse(["web", "app"][random.usize(..2)]).unwrap();
        let key = NewApiKey::new(name.clone(), &secret(number), NOW, None);
        match random.u8(..7) {
            0 | 1 => self.add(number).await,
            2 => self.read().await.map(drop),
            3 => is_done(add_key(&*self.store, key).await),
            4 => is_done(roll_key(&*self.store, key, NOW.plus(Duration::from_secs(90))).await),
            5 => revoke_keys(&*self.store, KeySelector::Name(name), NOW).await.map(drop),
            _ => {
                self.catalogue.purge_expired_records().await?;
                self.authenticate().await
            }
        }
    }

    async fn add(&self, number: u8) -> Result<(), StoreError> {
        let name = PetName::parse(number.to_string()).unwrap();
        let pet = NewPet { name, category_id: CategoryId(1), status: None };
        let key = IdempotencyKey::parse(number.to_string()).unwrap();
        let idempotency = Idempotency { caller: KeyDigest([1; 32]), key };
        match self.catalogue.add(pet, Some(idempotency)).await {
            Ok(_) => Ok(()),
            Err(AddError::Store(error)) => Err(error),
            Err(AddError::IdempotencyKeyReused) => panic!("the request is a repeat"),
        }
    }

    /// Returns every animal, and reads the last of them again.
    async fn read(&self) -> Result<Vec<Pet>, StoreError> {
        let all = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
        let pets = self.catalogue.list(all).await?.value.pets;
        if let Some(last) = pets.last() {
            assert_eq!(self.catalogue.get(last.id).await?.value.as_ref(), Some(last));
        }
        Ok(pets)
    }

    /// Checks that exactly the live keys are granted.
    async fn authenticate(&self) -> Result<(), StoreError> {
        self.ring.refresh().await?;
        let keys = self.keys().await;
        for seed in 0..OPERATIONS {
            let is_granted = self.ring.check(&secret(seed), Some(Duration::ZERO)).is_ok();
            let mut live = keys.iter().filter(|key| key.state(NOW) == KeyState::Live);
            assert_eq!(is_granted, live.any(|key| key.digest == secret(seed).digest()));
        }
        self.ring.write_back_uses().await
    }

    /// Returns the stored keys. This call does not fail.
    async fn keys(&self) -> Vec<ApiKey> {
        load_keys(&self.store.inner).await.unwrap().keys
    }
}

/// Runs the operations of a seed, and repeats an operation that fails. Returns the number of calls and of failures, and
/// the animals and keys at the end.
async fn simulate(seed: u64, fault: Option<(u64, Fails)>) -> (u64, u32, Vec<Pet>, Vec<ApiKey>) {
    let (simulation, mut failures) = (Simulation::new(fault), 0);
    for number in 0..OPERATIONS {
        let begin = Rng::with_seed(seed << 8 | u64::from(number));
        while let Err(error) = simulation.run(number, &mut begin.clone()).await {
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
            failures += 1;
        }
    }
    let calls = simulation.store.calls();
    (calls, failures, simulation.read().await.unwrap(), simulation.keys().await)
}

#[tokio::test]
async fn a_failure_of_any_call_loses_and_doubles_nothing() {
    for seed in 0..SEEDS {
        let (calls, failures, pets, keys) = simulate(seed, None).await;
        assert!(failures == 0 && calls > 20 && !pets.is_empty() && !keys.is_empty());
        for fault in (0..calls).flat_map(|call| [(call, Fails::Before), (call, Fails::After)]) {
            let (_, failures, found, stored) = simulate(seed, Some(fault)).await;
            assert_eq!((failures, found, stored), (1, pets.clone(), keys.clone()), "{fault:?}");
        }
    }
}

/// Drops a refusal. A rule or the store refuses the repeat of a change that took effect.
fn is_done(changed: Result<ApiKey, KeyChangeError>) -> Result<(), StoreError> {
    match changed {
        Err(KeyChangeError::Store(error)) if !matches!(error, StoreError::Refused(_)) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
