//! [`PetRepository`] on SQLite.

pub(crate) mod attempts;
pub(crate) mod identifiers;
pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};
use rusqlite::Connection;

use crate::{
    SqliteStore,
    error::{Failure, corruption},
    writer::Session,
};

#[async_trait]
impl PetRepository for SqliteStore {
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer.write(move |session| add(session, pet, attempt.as_ref())).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        self.readers.read(|connection| rows::find(connection, id))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.readers.read(|connection| rows::page(connection, &query))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.board.mark()
    }

    async fn purge_expired(&self, expired: Timestamp, at_most: u32) -> Result<u32, StoreError> {
        self.writer
            .write(move |connection| Ok(attempts::forget(connection, expired, at_most)?))
            .await
    }
}

fn add(
    session: &Session<'_>,
    pet: NewPet,
    attempt: Option<&IdempotencyRequest>,
) -> Result<Added, Failure<AddError>> {
    let Some(attempt) = attempt else { return Ok(Added::Created(rows::insert(session, pet)?)) };
    if let Some(record) = attempts::find(session, attempt)? {
        if record.fingerprint != attempt.fingerprint.0 {
            return Err(Failure::Answer(AddError::IdempotencyKeyReused));
        }
        return before(session, record.pet);
    }
    let pet = rows::insert(session, pet)?;
    attempts::record(session, attempt, pet.id)?;
    Ok(Added::Created(pet))
}

fn before(connection: &Connection, id: PetId) -> Result<Added, Failure<AddError>> {
    let pet = rows::find(connection, id)?;
    let missing = || corruption(format!("an idempotency record of animal {id}"), "it exists");
    Ok(Added::Replayed(pet.ok_or_else(missing)?.value))
}
