//! [`PetRepository`] on PostgreSQL.

pub(crate) mod attempts;
pub(crate) mod rows;

use std::time::Instant;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};

use crate::{PostgresStore, error::Failure, version::Seen};

#[async_trait]
impl PetRepository for PostgresStore {
    async fn add(
        &self,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer.add(pet, attempt).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        self.pool.within(self.find_one(id)).await
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.pool.within(self.page(&query)).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.board.mark()
    }

    async fn purge_expired(&self, expired: Timestamp, at_most: u32) -> Result<u32, StoreError> {
        let forget = async {
            let values = (expired.0, i64::from(at_most));
            let forgotten = self.pool.change(attempts::FORGET, &[&values.0, &values.1]).await?;
            Ok(u32::try_from(forgotten).unwrap_or(at_most))
        };
        self.pool.within(forget).await
    }
}

impl PostgresStore {
    async fn find_one(&self, id: PetId) -> Result<Option<Versioned<Pet>>, Failure<StoreError>> {
        let began = Instant::now();
        let rows = self.pool.read(rows::FIND, &[&id.0]).await?;
        let seen = Seen::of(rows.first())?;
        self.board.show(seen, began);
        let pet = rows::pets(&rows)?.pop();
        Ok(pet.map(|value| Versioned { value, version: Some(seen.mark) }))
    }

    async fn page(&self, query: &PetQuery) -> Result<Versioned<PetPage>, Failure<StoreError>> {
        let began = Instant::now();
        let after = query.after.map_or(i64::MIN, |id| id.0);
        let limit = usize::from(query.limit.get());
        let one_more = i64::from(query.limit.get()) + 1;
        let rows = self.pool.read(rows::page(query.status), &[&after, &one_more]).await?;
        let seen = Seen::of(rows.first())?;
        self.board.show(seen, began);
        let more = rows.len() > limit;
        let pets = rows::pets(&rows[..limit.min(rows.len())])?;
        Ok(Versioned { value: PetPage { pets, more }, version: Some(seen.mark) })
    }
}
