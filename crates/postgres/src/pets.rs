//! [`PetRepository`] on PostgreSQL.

pub(crate) mod addition;
pub(crate) mod rows;

#[cfg(test)]
mod tests;

use std::time::Instant;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Handover as _, IdempotencyRequest, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned,
};
use tokio_postgres::Row;

use crate::{
    store::PostgresStore,
    values::{Values, scalar},
    version,
};

#[async_trait]
impl PetRepository for PostgresStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.tasks.writer.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let (rows, version) = self.read_versioned(rows::FIND, &[&id.0]).await?;
        Ok(Versioned { value: rows::pets(&rows)?.pop(), version })
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let after = query.after.map_or(i64::MIN, |id| id.0);
        let limit = usize::from(query.limit.get());
        let values: Values<'_> = &[&after, &(i64::from(query.limit.get()) + 1)];
        let (rows, version) = self.read_versioned(rows::page(query.status), values).await?;
        let more = rows.len() > limit;
        let pets = rows::pets(&rows[..limit.min(rows.len())])?;
        Ok(Versioned { value: PetPage { pets, more }, version })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.tasks.version.get()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let values: Values<'_> = &[&cutoff.0, &i64::from(limit)];
        let purge = async { Ok(self.pool.query(rows::PURGE, values).await?) };
        let purged: i64 = scalar(&self.pool.within_deadline(purge).await?)?;
        Ok(Purged::up_to(limit, u32::try_from(purged).unwrap_or(limit)))
    }
}

impl PostgresStore {
    /// Returns rows that begin with the catalogue's version, and that version. Runs with the deadline of a call.
    async fn read_versioned(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<(Vec<Row>, Option<CatalogueVersion>), StoreError> {
        let read = async {
            loop {
                let began = Instant::now();
                let rows = self.pool.query(sql, values).await?;
                let stored = version::from_row(rows.first())?;
                self.tasks.version.observe(stored, began);
                // There is no version unless the phase of the store is open. If the phase is open by now, read again.
                if stored.version.is_some()
                    || !self.state().await?.permit_read(self.reads_while_sealed)?
                {
                    return Ok((rows, stored.version));
                }
            }
        };
        self.pool.within_deadline(read).await
    }
}
