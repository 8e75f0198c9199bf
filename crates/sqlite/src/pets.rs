//! [`PetRepository`] on SQLite.

pub(crate) mod addition;
pub(crate) mod idempotency;
pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Purged, StoreError, Timestamp, Versioned,
};
use rusqlite::Connection;

use crate::{error::Failure, handover::rows as handover, store::SqliteStore, version};

#[async_trait]
impl PetRepository for SqliteStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer()?.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        self.read_versioned(move |connection| rows::find(connection, id)).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.read_versioned(move |connection| rows::page(connection, &query)).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.readers.note_use();
        self.versions.known()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let purge = move |connection: &Connection| {
            Ok(Purged::up_to(limit, idempotency::purge(connection, cutoff, limit)?))
        };
        self.writer()?.write(purge).await
    }
}

impl SqliteStore {
    /// Reads in the snapshot that the version is read from.
    async fn read_versioned<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<Versioned<T>, StoreError> {
        let while_sealed = self.reads_while_sealed;
        let read = move |connection: &Connection| {
            version::in_snapshot(connection, |version| {
                handover::permit_read(connection, version, while_sealed)?;
                Ok(Versioned { value: read(connection)?, version })
            })
        };
        self.readers.read(read).await
    }
}
