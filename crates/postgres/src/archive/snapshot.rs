//! [`Snapshot`] on PostgreSQL: a transaction with `REPEATABLE READ`.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, HighestIds, IdempotencyRecord, KeyId, Pet, PetId, RecordPosition, Snapshot,
    StoreCounts, StoreError,
};

use crate::{
    api_keys,
    connection::Connection,
    error::StoreFailure,
    pets::{idempotency, rows},
    version::state,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";
/// Selects the highest identifiers of animals and of keys. The sequence is at the last identifier that was drawn, even for
/// a request that added nothing. Rows that were not numbered by the sequence may be above it.
const HIGHEST: &str = concat!(
    "SELECT greatest((SELECT id FROM pet ORDER BY id DESC LIMIT 1), (SELECT last_value FROM pg_catalog.pg_sequences \
       WHERE schemaname = current_schema() AND sequencename = 'pet_id')), nullif(c.highest_key_id, 0) FROM ",
    state!(),
    " c"
);

/// An open transaction that sees one state of the store.
pub(super) struct PostgresSnapshot {
    transaction: Connection,
    /// Read first, because a transaction does not freeze a sequence.
    highest: HighestIds,
}

impl PostgresSnapshot {
    /// Fixes the state that the transaction sees, by its first statement.
    pub(super) async fn new(transaction: Connection) -> Result<Self, StoreError> {
        let rows = transaction.query(HIGHEST, &[]).await?;
        let missing = || StoreError::corrupt("the state of the store", "there is one");
        let row = rows.first().ok_or_else(missing)?;
        let id = |column| row.try_get::<_, Option<i64>>(column).map_err(StoreFailure::from);
        let highest = HighestIds { pet: id(0)?.map(PetId), key: id(1)?.map(KeyId) };
        Ok(Self { transaction, highest })
    }
}

#[async_trait]
impl Snapshot for PostgresSnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let rows = self.transaction.query(COUNTS, &[]).await?;
        let count = |column| {
            let count = rows.first().and_then(|row| row.try_get::<_, i64>(column).ok());
            count.unwrap_or_default().unsigned_abs()
        };
        Ok(StoreCounts { pets: count(0), keys: count(1), records: count(2) })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        Ok(self.highest)
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let first = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1));
        let Some(first) = first else { return Ok(Vec::new()) };
        let rows = self.transaction.query(rows::FROM, &[&first, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| rows::pet(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        api_keys::rows::keys(&self.transaction.query(api_keys::rows::ALL, &[]).await?)
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        // Every id is above the empty id.
        let (pet, id) =
            after.as_ref().map_or((i64::MIN, &[][..]), |RecordPosition { pet, id }| (pet.0, &id.0));
        let rows =
            self.transaction.query(idempotency::AFTER, &[&pet, &id, &i64::from(limit)]).await?;
        Ok(rows.iter().map(idempotency::record).collect::<Result<_, _>>()?)
    }
}
