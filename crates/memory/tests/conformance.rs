//! The conformance tests of the storage ports on the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_domain::PetId;
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
