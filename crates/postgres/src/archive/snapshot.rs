//! A consistent view of the store.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyId, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts, StoreError,
};

use crate::{
    api_keys,
    connection::Connection,
    error::StoreFailure,
    pets::{idempotency, rows},
    version,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";
const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE id > $1 ORDER BY id LIMIT $2";

/// A transaction that sees one state for as long as it is open.
#[derive(Debug)]
pub(super) struct View(Connection);

impl View {
    /// Begins the view, by its first statement.
    pub(super) async fn new(transaction: Connection) -> Result<Self, StoreFailure> {
        transaction.query(version::SELECT, &[]).await?;
        Ok(Self(transaction))
    }
}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let rows = self.0.query(COUNTS, &[]).await?;
        let count = |column| {
            let count = rows.first().and_then(|row| row.try_get::<_, i64>(column).ok());
            count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
        };
        Ok(StoreCounts { pets: count(0), keys: count(1), idempotency_records: count(2) })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let first = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1));
        let Some(first) = first else { return Ok(Vec::new()) };
        let rows = self.0.query(rows::FROM, &[&first, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| rows::pet(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        api_keys::rows::keys(&self.0.query(api_keys::rows::ALL, &[]).await?)
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        // Every id is above the empty one.
        let after = after.as_ref().map_or(&[][..], |after| &after.0);
        let rows = self.0.query(RECORDS, &[&after, &i64::from(limit)]).await?;
        Ok(rows.iter().map(idempotency::record).collect::<Result<_, _>>()?)
    }
}
