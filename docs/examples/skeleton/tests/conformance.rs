//! The contract of the storage ports: a test for each promise, each on a store of its own.

use std::sync::Arc;

use async_trait::async_trait;
use my_store::MyStore;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};

/// Hands out throw-away stores.
#[derive(Clone, Copy, Debug)]
struct Scratch;

#[async_trait]
impl Harness for Scratch {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Place { name: "made up, another one each time".to_owned() }))
    }

    // What is not named here is checked.
    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Version => Some("it is not known cheaply"),
            Capability::Outage => Some("the test cannot take the store out of reach yet"),
            Capability::Handover => Some("it is copied with the service stopped"),
            Capability::Reopen | Capability::SecondHandle | Capability::Archive => None,
        }
    }
}

/// Where one throw-away store is. Dropping it removes the store.
struct Place {
    name: String,
}

#[async_trait]
impl ScratchStore for Place {
    async fn open(&self) -> Result<Store, Problem> {
        Ok(Store::with_archive(Arc::new(MyStore::open(&self.name, true).await?)))
    }
}

petstore_conformance::conformance_tests!(Scratch);
