//! Behavior of this store that the conformance kit does not test.

#![expect(clippy::unwrap_used, reason = "tests")]

use petstore_domain::{
    AddError, Added, Archive as _, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetId,
    PetName, PetRepository, Rows, StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

fn once() -> IdempotencyRequest {
    IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), NOW)
}

#[tokio::test]
async fn a_write_without_a_new_animal_keeps_the_version() {
    let store = MemoryStore::new();
    PetRepository::add(&store, rex(), Some(once())).await.unwrap();
    let before = store.version();
    assert!(matches!(
        PetRepository::add(&store, rex(), Some(once())).await,
        Ok(Added::Replayed(_))
    ));
    assert_eq!(store.purge_expired(NOW, 1).await.unwrap().deleted, 1);
    assert_eq!(store.version(), before);
}

#[tokio::test]
async fn a_store_without_an_identifier_left_refuses_an_animal() {
    let store = MemoryStore::new();
    let pets = vec![rex().with_id(PetId(i64::MAX))];
    store.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await.unwrap();
    let refusal = PetRepository::add(&store, rex(), Some(once())).await;
    assert!(matches!(refusal, Err(AddError::Store(StoreError::Refused(_)))), "{refusal:?}");
    assert!(store.find(PetId(i64::MAX)).await.unwrap().value.is_some());
}
