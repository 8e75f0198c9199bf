//! Stores to move, and their rows.

use std::sync::Arc;

use petstore_domain::{
    Added, ApiKey, ApiKeySecret, Archive, IdempotencyId, IdempotencyRecord, IdempotencyRequest,
    KeyName, KeyStore as _, NewApiKey, Pet, PetId, PetRepository, Rows, Timestamp, WriterRole,
    add_key, load_keys, mocks::new_pet,
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

/// Returns a record id. The ids ascend with `number`.
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
        Added::Replayed(pet) => panic!("{pet:?} is a repeat, not new"),
    }
}

/// Adds `count` animals.
pub(crate) async fn fill(store: &MemoryStore, count: usize) {
    store.add_new(vec![new_pet("Rex"); count], None).await.unwrap();
}

pub(crate) async fn write(store: &MemoryStore, rows: Rows) {
    store.write_rows(WriterRole::Service, rows).await.unwrap();
}

pub(crate) async fn restore(store: &MemoryStore, pets: Vec<Pet>) {
    write(store, Rows { pets, ..Rows::default() }).await;
}

pub(crate) async fn key(store: &MemoryStore, seed: u8, called: &str) -> ApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    let key = NewApiKey::new(name(called), &secret, START, None);
    add_key(store, key).await.unwrap()
}

/// Records a use of the first key at `at`.
pub(crate) async fn use_first_key(store: &MemoryStore, at: Timestamp) {
    let keys = load_keys(store).await.unwrap().keys;
    store.note_uses(vec![(keys[0].id, at)]).await.unwrap();
}

/// Returns all rows of a store.
pub(crate) async fn held(store: &dyn Archive) -> (Vec<Pet>, Vec<ApiKey>, Vec<IdempotencyRecord>) {
    let mut snapshot = store.snapshot().await.unwrap();
    let pets = snapshot.pets(None, u32::MAX).await.unwrap();
    (pets, snapshot.keys().await.unwrap(), snapshot.records(None, u32::MAX).await.unwrap())
}
