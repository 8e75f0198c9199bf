//! [`PetRepository`] on SQLite.

pub(crate) mod addition;
pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Purged, StoreError, Timestamp, Versioned,
};
use rusqlite::Connection;

use crate::{handover::rows::permit_read, store::SqliteStore, version};

#[async_trait]
impl PetRepository for SqliteStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer()?.queue.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let while_sealed = self.reads_while_sealed;
        let find = move |connection: &Connection| {
            rows::find(connection, id, |version| permit_read(connection, version, while_sealed))
        };
        self.readers.read(find).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let while_sealed = self.reads_while_sealed;
        let list = move |connection: &Connection| {
            // A read transaction of SQLite lasts until the last running statement of the connection ends. The statement
            // of the version still runs while the page is read, so both see one snapshot without `BEGIN`.
            let mut statement = connection.prepare_cached(version::SELECT)?;
            let mut state = statement.query([])?;
            let version = version::of_column(state.next()?.ok_or_else(version::missing)?, 0)?;
            permit_read(connection, version, while_sealed)?;
            let PetQuery { after, status, limit } = query;
            let value = rows::page(connection, after, status, limit.get().into())?;
            Ok(Versioned { value, version })
        };
        self.readers.read(list).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.readers.note_use();
        self.readers.shared.pool.versions.known()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let purge = move |connection: &Connection| {
            let purged = connection.prepare_cached(rows::PURGE)?.execute((cutoff.0, limit))?;
            Ok(Purged::up_to(limit, u32::try_from(purged).unwrap_or(limit)))
        };
        self.writer()?.write(purge).await
    }
}
