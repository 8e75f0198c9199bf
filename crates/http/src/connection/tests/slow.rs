//! A service whose store is slow.

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

/// A store that takes longer than the idle timeout after GOAWAY.
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

/// A slow service at which every key is good.
pub(super) fn slow_ports() -> Ports {
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_authenticate().returning(|secret: &ApiKeySecret| {
        Ok(Caller { digest: secret.digest(), rights: KeyRights::Full })
    });
    let (pets, authenticator) = (Arc::new(Slow), Arc::new(authenticator));
    Ports { pets, authenticator, clock: Arc::new(ManualClock::new(Timestamp(0))) }
}

/// A connection to that service.
pub(super) fn connect_to_slow() -> DuplexStream {
    connect_to(1 << 16, HEADER, slow_ports()).0
}
