//! The contract of the storage ports, kept by an adapter of ports 2.0 that stays as it is.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_kept::KeptStore;

struct Kept;

#[async_trait]
impl Harness for Kept {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(InMemory(KeptStore::new())))
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
struct InMemory(KeptStore);

#[async_trait]
impl ScratchStore for InMemory {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let store = Arc::new(self.0.handle(reads_while_sealed));
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }
}

petstore_conformance::conformance_tests!(Kept);
