//! What is true of this store alone: the contract is checked by the conformance kit.

#![expect(clippy::unwrap_used, reason = "tests")]

use petstore_domain::{
    AddError, Added, Archive as _, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetId,
    PetName, PetRepository, StoreError, Timestamp,
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
async fn what_adds_no_animal_leaves_the_version() {
    let store = MemoryStore::new();
    PetRepository::add(&store, rex(), Some(once())).await.unwrap();
    let before = store.version();
    assert!(matches!(
        PetRepository::add(&store, rex(), Some(once())).await,
        Ok(Added::Replayed(_))
    ));
    assert_eq!(store.purge_expired(NOW, 1).await.unwrap(), 1);
    assert_eq!(store.version(), before);
}

#[tokio::test]
async fn a_store_without_an_identifier_left_takes_no_animal() {
    let store = MemoryStore::new();
    let mut restore = store.restore().await.unwrap();
    restore.pets(vec![rex().with_id(PetId(i64::MAX))]).await.unwrap();
    restore.commit().await.unwrap();
    let refusal = PetRepository::add(&store, rex(), Some(once())).await;
    assert!(matches!(refusal, Err(AddError::Store(StoreError::Unavailable(_)))), "{refusal:?}");
    assert!(store.find(PetId(i64::MAX)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_restore_keeps_what_was_written_meanwhile_and_changes_nothing_if_that_is_in_its_way() {
    let store = MemoryStore::new();
    let bello = || NewPet { name: PetName::parse("Bello").unwrap(), ..rex() };
    let mut restore = store.restore().await.unwrap();
    restore.pets(vec![rex().with_id(PetId(5))]).await.unwrap();
    PetRepository::add(&store, bello(), None).await.unwrap();
    restore.commit().await.unwrap();
    for (id, pet) in [(1, bello()), (5, rex())] {
        let id = PetId(id);
        assert_eq!(store.find(id).await.unwrap().unwrap().value, pet.with_id(id));
    }

    let mut restore = store.restore().await.unwrap();
    restore.pets(vec![rex().with_id(PetId(3)), rex().with_id(PetId(6))]).await.unwrap();
    PetRepository::add(&store, bello(), None).await.unwrap();
    assert!(restore.commit().await.is_err());
    assert!(store.find(PetId(3)).await.unwrap().is_none());
    let stays = store.find(PetId(6)).await.unwrap().unwrap().value;
    assert_eq!(stays, bello().with_id(PetId(6)));
}
