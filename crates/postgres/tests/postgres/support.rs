//! Stores on throw-away databases, and short helpers.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use petstore_domain::{
    Added, ApiKeySecret, CategoryId, Idempotency, IdempotencyKey, IdempotencyRequest, KeyDigest,
    KeyName, NewApiKey, NewPet, PageLimit, Pet, PetId, PetName, PetQuery, PetRepository, Timestamp,
};
use petstore_postgres::{PostgresConfig, PostgresStore};

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// The time by which a busy machine may exceed a time limit.
pub(crate) const SLACK: Duration = Duration::from_secs(15);
/// The time within which a store must work again after an outage.
pub(crate) const RECOVERY: Duration = Duration::from_secs(5).saturating_add(SLACK);

pub(crate) async fn open(url: &str) -> PostgresStore {
    PostgresStore::connect(&PostgresConfig::parse(url).unwrap()).await.unwrap()
}

/// Returns the reason why a store is not opened.
pub(crate) async fn refusal(url: &str) -> String {
    let config = PostgresConfig::parse(url).unwrap();
    PostgresStore::connect(&config).await.map(drop).unwrap_err().to_string()
}

pub(crate) fn new_pet(name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(1), status: None }
}

pub(crate) fn request(key: &str, pet: &NewPet) -> IdempotencyRequest {
    let key = IdempotencyKey::parse(key).unwrap();
    IdempotencyRequest::new(Idempotency { caller: KeyDigest([7; 32]), key }.id(), pet, NOW)
}

/// Adds an animal, which must be new.
pub(crate) async fn add(store: &PostgresStore, name: &str) -> Pet {
    match PetRepository::add(store, new_pet(name), None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

/// The time limit for load to start on a busy machine.
pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Waits until other tasks have added `many` animals, at most for [`START_TIMEOUT`].
pub(crate) async fn grows_by(store: &PostgresStore, many: usize) {
    let (began, before) = (Instant::now(), all(store).await.len());
    while all(store).await.len() < before + many {
        assert!(began.elapsed() < START_TIMEOUT, "fewer than {many} were added");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns every animal, read page by page.
pub(crate) async fn all(store: &PostgresStore) -> Vec<Pet> {
    let mut pets: Vec<Pet> = Vec::new();
    loop {
        let page = PetRepository::list(store, query(100, pets.last().map(|pet| pet.id)))
            .await
            .unwrap()
            .value;
        pets.extend(page.pets);
        if !page.more {
            return pets;
        }
    }
}

pub(crate) fn query(limit: u8, after: Option<PetId>) -> PetQuery {
    PetQuery { limit: PageLimit::new(limit).unwrap(), status: None, after }
}

pub(crate) fn new_key(seed: u8, name: &str) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    NewApiKey::new(KeyName::parse(name).unwrap(), &secret, NOW, None)
}

/// Repeats `work` until it succeeds, at most for [`RECOVERY`].
pub(crate) async fn recovers<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(
    work: impl Fn() -> F,
) -> T {
    let began = Instant::now();
    loop {
        match work().await {
            Ok(value) => return value,
            Err(error) => {
                assert!(began.elapsed() < RECOVERY, "no success within {RECOVERY:?}: {error:?}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
