//! [`Snapshot`] on SQLite: a read transaction, beside which SQLite checks the file.

mod check;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Idempotency, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts, StoreError,
};
use rusqlite::{Connection, Row};
use tokio::task;

use self::check::Check;
use crate::{
    api_keys::rows as keys,
    error::Failure,
    file::DatabaseFile,
    pets::{idempotency, rows as pets},
};

/// The transaction sees the store as it is at its first read, not at its `BEGIN`.
const BEGIN: &str = "BEGIN; SELECT version FROM catalogue";
const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";

/// An open read transaction. Each read runs on a thread for blocking work: a copy reads its next batch
/// while the last one is written.
pub(super) struct ReadTransaction {
    /// Taken out for as long as a read runs. A read that nobody waits for any more does not put it back.
    open: Option<Open>,
    check: Check,
}

/// Dropping it closes the connection, which ends the transaction.
struct Open {
    // In the order in which they are dropped: the file is closed when SQLite's locks are gone.
    connection: Connection,
    _file: DatabaseFile,
}

impl ReadTransaction {
    /// Begins one. `checking` is another connection to the same file.
    pub(super) fn begin(
        connection: Connection,
        checking: Connection,
        file: DatabaseFile,
    ) -> Result<Self, StoreError> {
        connection.execute_batch(BEGIN).map_err(|error| error_of(error.into()))?;
        let check = Check::begin(checking, file.share());
        Ok(Self { open: Some(Open { connection, _file: file }), check })
    }

    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let open = self.open.take();
        let open =
            open.ok_or_else(|| StoreError::unavailable("an earlier read failed or was canceled"))?;
        let reading = task::spawn_blocking(move || (read(&open.connection), open));
        let (result, open) = reading.await.map_err(StoreError::unavailable)?;
        if result.is_err() {
            // If the file is damaged, the check says where.
            self.check.end().await?;
        }
        self.open = Some(open);
        result.map_err(error_of)
    }
}

fn error_of(failure: Failure<StoreError>) -> StoreError {
    failure.into_error()
}

#[async_trait]
impl Snapshot for ReadTransaction {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.read(|connection| Ok(connection.query_row(COUNTS, [], counts)?)).await
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let pets = self.read(move |connection| pets::after(connection, after, limit)).await?;
        if pets.len() < limit as usize
            && let Err(fault) = self.check.end().await
        {
            self.open = None;
            return Err(fault);
        }
        Ok(pets)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|connection| Ok(keys::all(connection)?.into_all()?)).await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.read(move |connection| idempotency::after(connection, after.as_ref(), limit)).await
    }
}

fn counts(row: &Row<'_>) -> rusqlite::Result<StoreCounts> {
    let count = |index| row.get(index).map(i64::unsigned_abs);
    Ok(StoreCounts { pets: count(0)?, keys: count(1)?, idempotency_records: count(2)? })
}
