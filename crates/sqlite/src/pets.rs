//! [`PetRepository`] on SQLite.

pub(crate) mod idempotency;
pub(crate) mod rows;

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Corruption, IdempotencyDecision, IdempotencyRequest, NewPet,
    Pet, PetId, PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned,
};
use rusqlite::Connection;

use self::idempotency::recent::RecentRecords;
use crate::{error::Failure, handover::rows as handover, store::SqliteStore, version};

#[async_trait]
impl PetRepository for SqliteStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer()?.write(move |connection, recent| add(connection, recent, pet, request)).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        let Versioned { value, version } =
            self.read_versioned(move |connection| rows::find(connection, id)).await?;
        Ok(value.map(|value| Versioned { value, version }))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.read_versioned(move |connection| rows::page(connection, &query)).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.readers.watch.note_use();
        self.versions.get()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.writer()?
            .write(move |connection, recent| {
                let deleted = idempotency::purge(connection, recent, cutoff, limit)?;
                Ok(Purged::up_to(limit, deleted))
            })
            .await
    }
}

impl SqliteStore {
    /// Reads in the snapshot that the version is read from.
    async fn read_versioned<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<Versioned<T>, StoreError> {
        let while_sealed = self.reads_while_sealed.load(Ordering::Relaxed);
        let read = move |connection: &Connection| {
            version::in_snapshot(connection, |version| {
                handover::permit_read(connection, version, while_sealed)?;
                Ok(Versioned { value: read(connection)?, version })
            })
        };
        self.readers.read(read).await
    }
}

fn add(
    connection: &Connection,
    recent: &mut RecentRecords,
    pet: NewPet,
    request: Option<IdempotencyRequest>,
) -> Result<Added, Failure<AddError>> {
    let Some(request) = request else {
        return Ok(Added::Created(rows::insert(connection, pet)?));
    };
    let stored = idempotency::find(connection, recent, request.id)?;
    let found = stored.as_ref().map(|record| (record.fingerprint, record.pet, record.at));
    match request.decide(found) {
        IdempotencyDecision::Create => {
            let pet = rows::insert(connection, pet)?;
            let record = request.into_record(pet.id);
            idempotency::write(connection, recent, stored.as_ref(), &record)?;
            Ok(Added::Created(pet))
        }
        IdempotencyDecision::Replay(id) => Ok(Added::Replayed(recorded(connection, id)?)),
        IdempotencyDecision::Reused => Err(Failure::Answer(AddError::IdempotencyKeyReused)),
    }
}

/// Returns the animal of a record.
fn recorded(connection: &Connection, id: PetId) -> Result<Pet, Failure<AddError>> {
    let missing =
        || Corruption::new(format_args!("an idempotency record of animal {id}"), "it exists");
    Ok(rows::find::<AddError>(connection, id)?.ok_or_else(missing)?)
}
