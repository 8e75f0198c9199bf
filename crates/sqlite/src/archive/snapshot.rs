//! [`Snapshot`] on SQLite: a read transaction.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, HighestIds, IdempotencyRecord, KeyId, Pet, PetId, RecordPosition, Snapshot,
    StoreCounts, StoreError,
};
use rusqlite::Connection;
use tokio::task;

use crate::{
    api_keys::rows as keys,
    error::Failure,
    pets::{idempotency, rows as pets},
    pool::Pool,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";

/// An open read transaction. Reads run on blocking threads, so that a copy reads its next batch while it writes the last
/// one.
pub(super) struct ReadTransaction {
    /// The connection, which a running read takes and puts back. A canceled read does not put it back. Dropping the
    /// connection ends the transaction.
    connection: Option<Connection>,
    _pool: Arc<Pool>,
}

impl ReadTransaction {
    /// Begins a transaction on a connection of its own.
    pub(super) fn begin(pool: Arc<Pool>) -> rusqlite::Result<Self> {
        let connection = pool.open()?;
        // The snapshot begins with the first read, not with `BEGIN`.
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self { connection: Some(connection), _pool: pool })
    }

    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = self.connection.take();
        let connection =
            connection.ok_or_else(|| StoreError::unavailable("an earlier read was canceled"))?;
        let reading = task::spawn_blocking(move || (read(&connection), connection));
        let (result, connection) = reading.await.map_err(StoreError::unavailable)?;
        self.connection = Some(connection);
        result.map_err(Failure::into_error)
    }
}

#[async_trait]
impl Snapshot for ReadTransaction {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.read(|connection| Ok(counts(connection)?)).await
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let highest = |connection: &Connection| {
            let (_, key) = keys::head(connection)?;
            let key = (key > 0).then_some(KeyId(key));
            Ok(HighestIds { pet: pets::highest(connection)?, key })
        };
        self.read(highest).await
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        self.read(move |connection| pets::after(connection, after, limit)).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|connection| Ok(keys::all(connection)?.into_all()?)).await
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.read(move |connection| idempotency::after(connection, after, limit)).await
    }
}

/// Returns the number of rows of each kind.
pub(crate) fn counts(connection: &Connection) -> rusqlite::Result<StoreCounts> {
    connection.query_row(COUNTS, [], |row| {
        let count = |index| row.get(index).map(i64::unsigned_abs);
        Ok(StoreCounts { pets: count(0)?, keys: count(1)?, records: count(2)? })
    })
}
