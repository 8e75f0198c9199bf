//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

pub(crate) mod restore;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, IdempotencyId, IdempotencyRecord, Pet, PetId, Restore, Snapshot, StoreCounts,
    StoreError,
};

use self::restore::Restoring;
use crate::{
    api_keys::rows as keys,
    connection::{Connection, READ_COMMITTED, SNAPSHOT, WRITING},
    connector::Purpose,
    pets::{idempotency, rows as pets},
    relocation::rows as relocation,
    sequences,
    store::PostgresStore,
    version,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";
const PETS: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= $1 ORDER BY id LIMIT $2";
const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE id > $1 ORDER BY id LIMIT $2";

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        // The view begins with the first statement, so there is one.
        transaction.query(version::SELECT, &[]).await?;
        Ok(Box::new(View(transaction)))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, WRITING).await?;
        if relocation::is_moving(&transaction).await? {
            return Err(StoreError::fenced("it is being moved; finish the move first"));
        }
        // A role that may not read or raise them may import all the same, if it need not.
        if sequences::behind(&self.pool).await.is_ok_and(|behind| !behind.is_empty()) {
            sequences::raise(&self.pool.begin(Purpose::Calls, READ_COMMITTED).await?).await?;
        }
        Ok(Box::new(Restoring::new(transaction, self.version.clone())))
    }
}

/// A transaction that sees one state of the store for as long as it is open.
#[derive(Debug)]
struct View(Connection);

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
        let rows = self.0.query(PETS, &[&first, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| pets::pet(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        keys::keys(&self.0.query(keys::ALL, &[]).await?)
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
