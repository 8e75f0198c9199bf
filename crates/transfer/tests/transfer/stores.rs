//! Stores to move, and what they hold.

use std::sync::Arc;

use petstore_domain::{
    Added, ApiKey, ApiKeySecret, Archive, Batch, IdempotencyId, IdempotencyRecord,
    IdempotencyRequest, KeyName, KeyStore as _, NewApiKey, Pet, PetId, PetRepository, SaveOutcome,
    StoredKeys, Timestamp, add_key, load_keys, mocks::new_pet,
};
use petstore_memory::MemoryStore;

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

pub(crate) fn name(text: &str) -> KeyName {
    KeyName::parse(text).unwrap()
}

pub(crate) fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

pub(crate) fn pet(id: i64, name: &str) -> Pet {
    new_pet(name).with_id(PetId(id))
}

/// An id in the order of the numbers.
pub(crate) fn id(number: u32) -> IdempotencyId {
    IdempotencyId(u128::from(number).to_be_bytes())
}

pub(crate) async fn add(
    store: &MemoryStore,
    name: &str,
    request: Option<(IdempotencyId, Timestamp)>,
) -> Pet {
    let pet = new_pet(name);
    let request = request.map(|(id, at)| IdempotencyRequest::new(id, &pet, at));
    match PetRepository::add(store, pet, request).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

/// Adds this many animals.
pub(crate) async fn fill(store: &MemoryStore, count: usize) {
    let new_pets = vec![new_pet("Rex"); count];
    store.write(Batch { new_pets, ..Batch::default() }).await.unwrap();
}

pub(crate) async fn restore(store: &MemoryStore, pets: Vec<Pet>) {
    store.write(Batch { pets, ..Batch::default() }).await.unwrap();
}

pub(crate) async fn restore_key(store: &MemoryStore, key: ApiKey) {
    store.write(Batch { keys: vec![key], ..Batch::default() }).await.unwrap();
}

pub(crate) async fn restore_record(store: &MemoryStore, record: IdempotencyRecord) {
    store.write(Batch { records: vec![record], ..Batch::default() }).await.unwrap();
}

pub(crate) async fn key(store: &MemoryStore, seed: u8, called: &str) -> ApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    let key = NewApiKey::new(name(called), &secret, START, None);
    add_key(store, key).await.unwrap()
}

/// Notes when the first key was used.
pub(crate) async fn use_first_key(store: &MemoryStore, at: Timestamp) {
    let StoredKeys { mut keys, revision, .. } = load_keys(store).await.unwrap();
    keys.truncate(1);
    keys[0].last_used_at = Some(at);
    assert_eq!(store.save(revision, keys, vec![]).await.unwrap(), SaveOutcome::SaveOutcome);
}

/// All that a store holds.
pub(crate) async fn held(store: &dyn Archive) -> (Vec<Pet>, Vec<ApiKey>, Vec<IdempotencyRecord>) {
    let mut snapshot = store.snapshot().await.unwrap();
    let pets = snapshot.pets(None, u32::MAX).await.unwrap();
    (
        pets,
        snapshot.keys().await.unwrap(),
        snapshot.records(None, u32::MAX).await.unwrap(),
    )
}
