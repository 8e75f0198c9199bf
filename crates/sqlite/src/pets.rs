//! [`PetRepository`] on SQLite.

pub(crate) mod idempotency;
pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyDecision, IdempotencyRequest, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned,
};
use petstore_storage::writer::Add;
use rusqlite::Connection;

use crate::{
    error::Failure, handover::rows as handover, store::SqliteStore, version, writer::Stored,
};

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
        self.readers.watch.note_use();
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

/// Adds the animal of a job. With `has_savepoint`, an error of SQLite undoes this job alone.
pub(crate) fn add(
    connection: &Connection,
    Add { pet, request, .. }: &Add,
    has_savepoint: bool,
) -> Result<Stored, Failure<AddError>> {
    let stored = match request {
        Some(request) => idempotency::find(connection, request.id)?,
        None => None,
    };
    let decision = request.map(|request| request.decide(stored.as_ref()));
    match decision.unwrap_or(IdempotencyDecision::Create) {
        IdempotencyDecision::Create => {}
        IdempotencyDecision::Replay(id) => return Ok(Stored { id, is_new: false }),
        IdempotencyDecision::Reused => {
            return Err(Failure::Answer(AddError::IdempotencyKeyReused));
        }
    }
    if has_savepoint {
        rows::require_identifiers(connection, 1)?;
    }
    let id = rows::insert(connection, pet)?;
    if let Some(request) = request {
        idempotency::write(connection, stored.as_ref(), &request.into_record(id))?;
    }
    Ok(Stored { id, is_new: true })
}
