//! [`Snapshot`] on SQLite: a read transaction.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Corruption, Idempotency, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts,
    StoreError,
};
use rusqlite::{Connection, Row};

use crate::{
    api_keys::rows as keys,
    error::Failure,
    file::DatabaseFile,
    integrity,
    pets::{idempotency, rows as pets},
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";

/// An open read transaction. Dropping it closes the connection, which ends it.
pub(super) struct ReadTransaction {
    // In the order in which they are dropped: the file is closed when SQLite's locks are gone.
    connection: Connection,
    _file: DatabaseFile,
}

impl ReadTransaction {
    /// Begins one, and has SQLite check all that it will read: a damaged page or index could leave
    /// animals out of what is read without an error.
    pub(super) fn begin(connection: Connection, file: DatabaseFile) -> Result<Self, StoreError> {
        // The transaction sees the store as it is at its first read, not at its `BEGIN`.
        connection.execute_batch("BEGIN").map_err(StoreError::unavailable)?;
        check(&connection).map_err(Failure::<StoreError>::into_error)?;
        Ok(Self { connection, _file: file })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>>,
    ) -> Result<T, StoreError> {
        read(&self.connection).map_err(Failure::into_error)
    }
}

/// Runs SQLite's check of every page, row and index. What it finds first is the error.
fn check(connection: &Connection) -> Result<(), Failure<StoreError>> {
    let Some(fault) = integrity::first_fault(connection)? else { return Ok(()) };
    Err(Corruption::new("damaged data", format_args!("SQLite's check finds no fault ({fault})"))
        .into())
}

#[async_trait]
impl Snapshot for ReadTransaction {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.read(|connection| Ok(connection.query_row(COUNTS, [], counts)?))
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        self.read(|connection| pets::after(connection, after, limit))
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|connection| Ok(keys::all(connection)?.into_all()?))
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.read(|connection| idempotency::after(connection, after.as_ref(), limit))
    }
}

fn counts(row: &Row<'_>) -> rusqlite::Result<StoreCounts> {
    let count = |index| row.get(index).map(i64::unsigned_abs);
    Ok(StoreCounts { pets: count(0)?, keys: count(1)?, idempotency_records: count(2)? })
}
