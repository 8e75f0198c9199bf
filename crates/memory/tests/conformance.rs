//! The contract of the storage ports, kept in memory.

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_memory::MemoryStore;
use std::sync::Arc;

struct Memory;

#[async_trait]
impl Harness for Memory {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(InMemory(MemoryStore::new())))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Reopen | Capability::OtherProcess => Some("the data ends with the process"),
            Capability::Outage => Some("a store in memory cannot be out of reach"),
            Capability::RefusedRow | Capability::DeletedRow => {
                Some("nothing but the adapter reaches the rows")
            }
            Capability::SecondHandle
            | Capability::Version
            | Capability::Archive
            | Capability::Handover => None,
        }
    }
}

/// One store, of which every handle shares the state.
struct InMemory(MemoryStore);

#[async_trait]
impl ScratchStore for InMemory {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let store = Arc::new(self.0.handle(reads_while_sealed));
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }
}

petstore_conformance::conformance_tests!(Memory);
