//! The contract of the storage ports, kept in memory.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use petstore_memory::MemoryStore;

struct Memory;

#[async_trait]
impl Harness for Memory {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Memory))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Reopen | Capability::SecondHandle => Some("a store in memory is one value"),
            Capability::Outage => Some("a store in memory cannot be out of reach"),
            Capability::Version | Capability::Archive | Capability::Handover => None,
        }
    }
}

#[async_trait]
impl ScratchStore for Memory {
    async fn open(&self) -> Result<Store, Problem> {
        let store = Arc::new(MemoryStore::new());
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }
}

petstore_conformance::conformance_tests!(Memory);
