//! The conformance tests of the storage ports on the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_domain::{
    ApiKeySecret, Archive as _, CategoryId, Handover as _, IdempotencyId, IdempotencyRequest,
    KeyId, KeyName, KeyStore as _, NewApiKey, NewPet, PetId, PetName, PetRepository, Rows,
    Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;

struct Memory;

#[async_trait]
impl Harness for Memory {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(InMemory(MemoryStore::new())))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Reopen | Capability::OtherProcess => {
                Some("the data is lost with the process")
            }
            Capability::Outage => Some("a store in memory is always reachable"),
            Capability::RefusedRow => Some("a store in memory has no constraints"),
            Capability::SecondHandle
            | Capability::DeletedRow
            | Capability::Version
            | Capability::Archive
            | Capability::Handover => None,
        }
    }
}

/// A store whose handles share one state.
struct InMemory(MemoryStore);

#[async_trait]
impl ScratchStore for InMemory {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let store = Arc::new(self.0.handle(reads_while_sealed));
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        if self.0.delete_pet(id) { Ok(()) } else { Err(format!("there is no animal {id}").into()) }
    }
}

petstore_conformance::conformance_tests!(Memory);

#[tokio::test]
async fn a_deletion_but_no_purge_changes_the_version_and_counts_as_a_rewrite() {
    let store = MemoryStore::new();
    let name = PetName::parse("Rex").unwrap();
    let rex = NewPet { name, category_id: CategoryId(1), status: None };
    let once = IdempotencyRequest::new(IdempotencyId([1; 16]), &rex, Timestamp(0));
    PetRepository::add(&store, rex, Some(once)).await.unwrap();
    let before = store.version();
    assert_eq!(store.purge_expired(Timestamp(0), 1).await.unwrap().deleted, 1);
    assert_eq!((store.version(), store.state().await.unwrap().rewrites), (before, 0));
    assert!(store.delete_pet(PetId(1)) && !store.delete_pet(PetId(1)));
    assert_eq!(store.state().await.unwrap().rewrites, 1);
    assert_ne!(store.version(), before);
}

#[tokio::test]
async fn a_written_key_changes_the_revision() {
    let store = MemoryStore::new();
    let before = store.load(None).await.unwrap().unwrap().revision;
    let (name, secret) = (KeyName::parse("web").unwrap(), ApiKeySecret::from_entropy(&[1; 32]));
    let keys = vec![NewApiKey::new(name, &secret, Timestamp(0), None).with_id(KeyId(1))];
    let rows = Rows { keys, ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    assert_eq!(store.load(Some(before)).await.unwrap().unwrap().keys.len(), 1);
}
