//! Short ways to say things.

use petstore_domain::{
    Added, ApiKey, ApiKeySecret, CategoryId, Fingerprint, Idempotency, IdempotencyKey,
    IdempotencyRequest, KeyDigest, KeyName, NewApiKey, NewPet, PageLimit, Pet, PetId, PetName,
    PetQuery, PetRepository, PetStatus, Timestamp,
};
use petstore_memory::MemoryStore;

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);
pub(crate) const A_DAY: i64 = 86_400_000;

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp(NOW.0 + millis)
}

pub(crate) fn new_pet(name: &str, category: i64, status: Option<PetStatus>) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(category), status }
}

pub(crate) fn rex() -> NewPet {
    new_pet("Rex", 1, None)
}

/// An attempt by the caller `caller` to add `pet` under `key` at the time `at`, with a lifetime of
/// a day.
pub(crate) fn attempt(caller: u8, key: &str, pet: &NewPet, at: Timestamp) -> IdempotencyRequest {
    IdempotencyRequest {
        idempotency: Idempotency {
            caller: KeyDigest([caller; 32]),
            key: IdempotencyKey::parse(key).unwrap(),
        },
        fingerprint: Fingerprint::new(pet),
        at,
        cutoff: Timestamp(at.0 - A_DAY),
    }
}

/// Adds `pet`, which must be new.
pub(crate) async fn add(store: &MemoryStore, pet: NewPet) -> Pet {
    match PetRepository::add(store, pet, None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

pub(crate) fn query(limit: u8, status: Option<PetStatus>, after: Option<i64>) -> PetQuery {
    let limit = PageLimit::parse(&limit.to_string()).unwrap();
    PetQuery { limit, status, after: after.map(PetId) }
}

pub(crate) fn new_key(seed: u8, name: &str, expires_at: Option<Timestamp>) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    NewApiKey {
        name: KeyName::parse(name).unwrap(),
        digest: secret.digest(),
        prefix: secret.prefix().to_owned(),
        created_at: NOW,
        expires_at,
    }
}

pub(crate) fn ids(keys: &[ApiKey]) -> Vec<i64> {
    keys.iter().map(|key| key.id.0).collect()
}
