//! The contract of the storage ports: a test for each promise, each on a store of its own.

use std::sync::Arc;

use async_trait::async_trait;
use my_store::{Access, MyStore};
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use tokio_util::sync::CancellationToken;

/// Hands out throw-away stores.
#[derive(Clone, Copy, Debug)]
struct Scratch;

#[async_trait]
impl Harness for Scratch {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(Place { name: "a new name for each store".to_owned() }))
    }

    // The reason why the promises of a capability are not checked; `None` if they are.
    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Version => Some("the store cannot know its version cheaply"),
            Capability::Outage => Some("the test cannot take the store out of reach yet"),
            Capability::OtherProcess => Some("the test starts no other process yet"),
            Capability::RefusedRow | Capability::DeletedRow => {
                Some("the test cannot change the store without the adapter yet")
            }
            Capability::Handover => Some("the store is copied while the service is stopped"),
            Capability::Reopen | Capability::SecondHandle | Capability::Archive => None,
        }
    }
}

/// The place of one throw-away store. Dropping this value removes the store.
struct Place {
    name: String,
}

#[async_trait]
impl ScratchStore for Place {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let panicked = CancellationToken::new();
        let store =
            MyStore::open(&self.name, Access::Create, reads_while_sealed, &panicked).await?;
        Ok(Store::with_archive(Arc::new(store)))
    }
}

petstore_conformance::conformance_tests!(Scratch);
