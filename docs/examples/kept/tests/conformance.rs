//! The contract of the storage ports, kept by an adapter that is older than this release.

use std::sync::Arc;

use async_trait::async_trait;
use example_kept::KeptStore;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};

struct Kept;

#[async_trait]
impl Harness for Kept {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Kept))
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
impl ScratchStore for Kept {
    async fn open(&self) -> Result<Store, Problem> {
        let store = Arc::new(KeptStore::new());
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }
}

petstore_conformance::conformance_tests!(Kept);
