//! [`Snapshot`] on SQLite: a read transaction.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Corruption, IdempotencyId, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts,
    StoreError,
};
use rusqlite::Connection;
use tokio::task;

use crate::{
    api_keys::rows as keys,
    error::Failure,
    inspection,
    pets::{idempotency, rows as pets},
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";

/// An open read transaction. Each read runs on a thread for blocking work: a copy reads its next batch
/// while the last one is written.
pub(super) struct ReadTransaction {
    /// Taken out for as long as a read runs. A read that nobody waits for any more does not put it back.
    /// Dropping it closes the connection, which ends the transaction.
    connection: Option<Connection>,
}

impl ReadTransaction {
    /// Begins one, and has SQLite check all that it will read: a damaged page or index could leave
    /// animals out of what is read without an error.
    pub(super) fn begin(connection: Connection) -> Result<Self, StoreError> {
        // The transaction sees the store as it is at its first read, not at its `BEGIN`.
        connection.execute_batch("BEGIN").map_err(StoreError::unavailable)?;
        check(&connection).map_err(Failure::<StoreError>::into_error)?;
        Ok(Self { connection: Some(connection) })
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

/// Fails with what SQLite's check finds first.
fn check(connection: &Connection) -> Result<(), Failure<StoreError>> {
    let Some(fault) = inspection::first_fault_in_a_snapshot(connection)? else { return Ok(()) };
    Err(Corruption::new("damaged data", format_args!("SQLite's check finds no fault ({fault})"))
        .into())
}

#[async_trait]
impl Snapshot for ReadTransaction {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.read(|connection| Ok(counts(connection)?)).await
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        self.read(move |connection| pets::after(connection, after, limit)).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(keys::all).await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.read(move |connection| idempotency::after(connection, after, limit)).await
    }
}

/// Returns how much the store has of everything.
pub(crate) fn counts(connection: &Connection) -> rusqlite::Result<StoreCounts> {
    connection.query_row(COUNTS, [], |row| {
        let count = |index| row.get(index).map(i64::unsigned_abs);
        Ok(StoreCounts { pets: count(0)?, keys: count(1)?, idempotency_records: count(2)? })
    })
}
