//! A slow pet service, for tests of connections with requests in flight.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKeySecret, Caller, CatalogueVersion, Idempotency, KeyRights, ManualClock,
    MockAuthenticator, NewPet, Pet, PetId, PetPage, PetQuery, PetService, StoreError, Timestamp,
    Versioned,
};
use tokio::{io::DuplexStream, time::sleep};

use super::{HEADER, connect_to};
use crate::state::Ports;

/// A service whose `list` and `add` take longer than the idle timeout after GOAWAY.
pub(super) struct Slow;

#[async_trait]
impl PetService for Slow {
    async fn list(&self, _: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        sleep(5 * HEADER).await;
        Ok(Versioned { value: PetPage { pets: Vec::new(), more: false }, version: None })
    }

    async fn add(&self, new: NewPet, _: Option<Idempotency>) -> Result<Added, AddError> {
        sleep(5 * HEADER).await;
        let NewPet { name, category_id, status } = new;
        Ok(Added::Created(Pet { id: PetId(1), name, category_id, status }))
    }

    async fn get(&self, _: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        Ok(Versioned { value: None, version: None })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None
    }
}

/// Returns ports with a [`Slow`] service and an authenticator that accepts every key.
pub(super) fn slow_ports() -> Ports {
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_authenticate().returning(|secret: &ApiKeySecret| {
        Ok(Caller { digest: secret.digest(), rights: KeyRights::Full })
    });
    let (pets, authenticator) = (Arc::new(Slow), Arc::new(authenticator));
    Ports { pets, authenticator, clock: Arc::new(ManualClock::new(Timestamp(0))) }
}

/// Returns the client's end of a connection to a [`Slow`] service.
pub(super) fn connect_to_slow() -> DuplexStream {
    connect_to(1 << 16, HEADER, slow_ports()).0
}
