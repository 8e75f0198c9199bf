//! Behavior of this store that the conformance kit does not test.

use petstore_domain::{
    Added, CategoryId, Handover as _, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName,
    PetRepository, Timestamp,
};
use petstore_memory::MemoryStore;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

#[tokio::test]
async fn a_deleted_animal_but_no_repeat_changes_the_version_and_counts_as_a_rewrite() {
    let store = MemoryStore::new();
    let name = PetName::parse("Rex").unwrap();
    let rex = NewPet { name, category_id: CategoryId(1), status: None };
    let once = IdempotencyRequest::new(IdempotencyId([1; 16]), &rex, NOW);
    PetRepository::add(&store, rex.clone(), Some(once)).await.unwrap();
    let before = store.version();
    let repeat = PetRepository::add(&store, rex, Some(once)).await;
    assert!(matches!(repeat, Ok(Added::Replayed(_))));
    assert_eq!(store.purge_expired(NOW, 1).await.unwrap().deleted, 1);
    assert_eq!(store.version(), before);
    assert_eq!(store.state().await.unwrap().rewrites, 0);
    assert!(store.delete_pet(PetId(1)) && !store.delete_pet(PetId(1)));
    assert_ne!(store.version(), before);
    assert_eq!(store.state().await.unwrap().rewrites, 1);
}
