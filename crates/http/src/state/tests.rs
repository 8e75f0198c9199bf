//! Ports for tests.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Idempotency, ManualClock, MockAuthenticator, MockPetService,
    NewPet, Pet, PetId, PetPage, PetQuery, StoreError, Timestamp, Versioned,
};
use tokio::time::sleep;

use super::{Arc, Authenticator, PetService, Ports};

/// Returns ports with these fakes, and a clock at the time 0.
pub(crate) fn ports(
    pets: impl PetService + 'static,
    authenticator: impl Authenticator + 'static,
) -> Ports {
    Ports {
        pets: Arc::new(pets),
        authenticator: Arc::new(authenticator),
        clock: Arc::new(ManualClock::new(Timestamp(0))),
    }
}

/// Returns ports that must not be called.
pub(crate) fn unused_ports() -> Ports {
    ports(MockPetService::new(), MockAuthenticator::new())
}

/// An empty catalogue whose calls take `takes`, and fail if `fails`.
#[derive(Default)]
pub(crate) struct SlowPets {
    pub(crate) takes: Duration,
    pub(crate) fails: bool,
    /// The queries of the lists that have begun.
    pub(crate) lists: Mutex<Vec<PetQuery>>,
    /// Each running call holds a reference.
    pub(crate) under_way: Arc<()>,
}

impl SlowPets {
    async fn outcome<T>(&self, value: T) -> Result<T, StoreError> {
        let _under_way = Arc::clone(&self.under_way);
        sleep(self.takes).await;
        if self.fails { Err(StoreError::unavailable("gone")) } else { Ok(value) }
    }
}

#[async_trait]
impl PetService for SlowPets {
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.lists.lock().unwrap().push(query);
        self.outcome(Versioned { value: PetPage::default(), version: None }).await
    }

    async fn add(&self, new: NewPet, _: Option<Idempotency>) -> Result<Added, AddError> {
        Ok(self.outcome(Added::Created(new.with_id(PetId(1)))).await?)
    }

    async fn get(&self, _: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        self.outcome(Versioned { value: None, version: None }).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None
    }
}
