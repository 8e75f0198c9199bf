//! Animals and idempotency records.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Purged, StoreError, Timestamp, Versioned,
};

use crate::store::MyStore;

#[async_trait]
impl PetRepository for MyStore {
    async fn add(
        &self,
        _pet: NewPet,
        _request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        todo!("one transaction: permit_write, decide, then the animal and its record")
    }

    async fn find(&self, _id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        todo!("read one animal, and the version of the same snapshot")
    }

    async fn list(&self, _query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        todo!("read one more animal than the limit: then you know whether more follow")
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None // The service then works without its page cache.
    }

    async fn purge_expired(&self, _cutoff: Timestamp, _limit: u32) -> Result<Purged, StoreError> {
        todo!("delete records that were made at the cutoff or before")
    }
}
