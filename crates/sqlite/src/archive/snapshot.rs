//! [`Snapshot`] on SQLite: a read transaction.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Idempotency, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts, StoreError,
};

use super::{Broken, Dedicated, answered, rows};
use crate::{api_keys, version};

/// An open read transaction. Dropping it closes the connection, which ends it.
pub(super) struct View(Dedicated);

impl View {
    pub(super) fn begin(dedicated: Dedicated) -> Result<Self, Broken> {
        // The transaction sees the store as it is at its first read, not at its `BEGIN`.
        dedicated.connection.execute_batch("BEGIN")?;
        dedicated.connection.query_row(version::SELECT, [], |_| Ok(()))?;
        Ok(Self(dedicated))
    }
}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        answered(rows::counts(&self.0.connection))
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, StoreError> {
        answered(rows::pets(&self.0.connection, after, at_most))
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        answered(api_keys::rows::all(&self.0.connection))
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        answered(rows::attempts(&self.0.connection, after.as_ref(), at_most))
    }
}
