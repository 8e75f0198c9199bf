//! [`PetRepository`] on PostgreSQL.

pub(crate) mod idempotency;
pub(crate) mod rows;

#[cfg(test)]
mod tests;

use std::time::Instant;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};
use tokio_postgres::Row;

use crate::{error::StoreFailure, store::PostgresStore, values::Values, version::StoredVersion};

#[async_trait]
impl PetRepository for PostgresStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        let find = async {
            let (rows, version) = self.read_versioned(rows::FIND, &[&id.0]).await?;
            let pet = rows::pets(&rows)?.pop();
            self.require_answer(pet.as_ref().is_none_or(|pet| pet.id == id))?;
            Ok(pet.map(|value| Versioned { value, version }))
        };
        self.pool.within_deadline(find).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let list = async {
            let after = query.after.map_or(i64::MIN, |id| id.0);
            let limit = usize::from(query.limit.get());
            let values: Values<'_> = &[&after, &(i64::from(query.limit.get()) + 1)];
            let (rows, version) = self.read_versioned(rows::page(query.status), values).await?;
            let more = rows.len() > limit;
            let pets = rows::pets(&rows[..limit.min(rows.len())])?;
            self.require_answer(is_page_of(&query, &pets))?;
            Ok(Versioned { value: PetPage { pets, more }, version })
        };
        self.pool.within_deadline(list).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.version.get()
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<u32, StoreError> {
        let purge = async {
            let values: Values<'_> = &[&cutoff.0, &i64::from(limit)];
            let purged = self.pool.change(idempotency::PURGE, values).await?;
            Ok(u32::try_from(purged).unwrap_or(limit))
        };
        self.pool.within_deadline(purge).await
    }
}

/// Whether these animals can be a page of `query`.
fn is_page_of(query: &PetQuery, pets: &[Pet]) -> bool {
    let is_asked_for = |pet: &Pet| {
        query.after.is_none_or(|after| pet.id > after)
            && (query.status.is_none() || pet.status == query.status)
    };
    pets.iter().all(is_asked_for) && pets.is_sorted_by(|one, next| one.id < next.id)
}

impl PostgresStore {
    /// Rows that were not asked for never leave the store, and no connection is used again then.
    fn require_answer(&self, is_answer: bool) -> Result<(), StoreFailure> {
        if is_answer {
            return Ok(());
        }
        self.pool.drop_all();
        Err(StoreFailure::OtherAnswer)
    }

    /// Rows that begin with the version of the snapshot that they were read from.
    async fn read_versioned(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<(Vec<Row>, Option<CatalogueVersion>), StoreError> {
        let began = Instant::now();
        let rows = self.pool.read(sql, values).await?;
        let stored = StoredVersion::from_row(rows.first())?;
        self.version.observe(stored, began);
        Ok((rows, Some(stored.version)))
    }
}
