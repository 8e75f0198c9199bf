//! [`Archive`] on SQLite.
//!
//! A snapshot is an open read transaction on its own connection, which may outlive the store. It blocks no writer, but
//! the write-ahead log grows while it is open.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, HighestIds, IdempotencyRecord, IdempotencyRequest, KeyId,
    NewPet, Pet, PetId, RecordPosition, Resolution, Rows, Snapshot, StoreCounts, StoreError,
    WriterRole,
};
use rusqlite::Connection;
use tokio::task;

use crate::{
    api_keys as keys, connection::Statements, error::Failure, pets::rows as pets, readers::Pool,
    store::SqliteStore,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";

pub(crate) const BEGIN_SEQUENCE: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 \
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)";
pub(crate) const RAISE_SEQUENCE: &str =
    "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2";

/// The number of added animals, and the increase of `rewrites`: `None` if no animal has changed.
type Written = (u64, Option<i64>);

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let pool = Arc::clone(&self.readers.shared.pool);
        let begin = move || ReadTransaction::begin(pool);
        let snapshot = task::spawn_blocking(begin).await.map_err(StoreError::unavailable)?;
        Ok(Box::new(snapshot.map_err(StoreError::unavailable)?))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let write = move |statements: &mut Statements<'_>| write_rows(statements, &rows);
        self.writer()?.transaction(writer, write).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let write = move |statements: &mut Statements<'_>| add_new_pets(statements, &pets, request);
        self.writer()?.transaction(WriterRole::Service, write).await
    }
}

/// An open read transaction. Reads run on blocking threads, so that a copy can read a batch while it writes the
/// previous batch.
struct ReadTransaction {
    /// The connection, which a running read locks. Dropping the connection ends the transaction.
    connection: Arc<Mutex<Connection>>,
    _pool: Arc<Pool>,
}

impl ReadTransaction {
    /// Begins a transaction on a connection of its own.
    fn begin(pool: Arc<Pool>) -> rusqlite::Result<Self> {
        let connection = pool.open()?;
        // The snapshot begins with the first read, not with `BEGIN`.
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), _pool: pool })
    }

    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = Arc::clone(&self.connection);
        let read = move || read(&connection.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(task::spawn_blocking(read).await.map_err(StoreError::unavailable)??)
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
        self.read(move |connection| Ok(pets::page(connection, after, None, limit)?.pets)).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|connection| Ok(keys::all(connection)?.into_all()?)).await
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        self.read(move |connection| pets::records_after(connection, after, limit)).await
    }
}

/// Returns the number of rows of each kind.
pub(crate) fn counts(connection: &Connection) -> rusqlite::Result<StoreCounts> {
    connection.query_row(COUNTS, [], |row| {
        let count = |index| row.get(index).map(i64::unsigned_abs);
        Ok(StoreCounts { pets: count(0)?, keys: count(1)?, records: count(2)? })
    })
}

/// Writes rows under their own identifiers.
fn write_rows(statements: &mut Statements<'_>, rows: &Rows) -> Result<Written, Failure> {
    let connection = statements.connection;
    let Rows { pets, keys, records, highest } = rows;
    let mut added = 0;
    for pet in pets {
        if pets::restore(statements, pet)? {
            added += 1;
        } else {
            let stored = pets::find(connection, pet.id, |_| Ok(()))?;
            Resolution::of_pet(stored.value.as_ref(), pet)?;
        }
    }
    for key in keys {
        let found = keys::find(connection, key)?;
        let stored = found.iter().find(|stored| stored.id == key.id);
        let owner = found.iter().find(|stored| stored.digest == key.digest).map(|owner| owner.id);
        let resolved = Resolution::of_key(stored, owner, key)?;
        keys::write(connection, &resolved)?;
        if let Some(at) = resolved.last_used_at {
            keys::note_use(connection, resolved.id, at)?;
        }
    }
    if !keys.is_empty() {
        keys::renew(connection)?;
    }
    for record in records {
        let stored = pets::find_record(statements, record.id)?;
        if Resolution::of_record(stored.as_ref(), record)? == Resolution::Write {
            pets::write_record(statements, stored.as_ref(), record)?;
        }
    }
    assign_above(connection, "pet", highest.pet.map(|id| id.0))?;
    assign_above(connection, "api_key", highest.key.map(|id| id.0))?;
    Ok((added, (added > 0).then_some(1)))
}

/// Adds animals under new identifiers, unless `request` is a repeat.
fn add_new_pets(
    statements: &mut Statements<'_>,
    pets: &[NewPet],
    request: Option<IdempotencyRequest>,
) -> Result<Written, Failure> {
    let mut stored = None;
    if let Some(request) = &request {
        stored = pets::find_record(statements, request.id)?;
        if Resolution::of_new_pets(stored.as_ref(), request)? == Resolution::Keep {
            return Ok((0, None));
        }
    }
    pets::require_identifiers(statements.connection, pets.len())?;
    let ids = pets.iter().map(|pet| pets::insert(statements, pet));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    if let (Some(id), Some(request)) = (ids.first(), request) {
        pets::write_record(statements, stored.as_ref(), &request.into_record(*id))?;
    }
    Ok((pets.len() as u64, (!pets.is_empty()).then_some(0)))
}

/// Raises the next identifier of a table above `id`.
fn assign_above(connection: &Connection, table: &str, id: Option<i64>) -> rusqlite::Result<()> {
    let Some(id) = id else { return Ok(()) };
    connection.prepare_cached(BEGIN_SEQUENCE)?.execute([table])?;
    connection.prepare_cached(RAISE_SEQUENCE)?.execute((table, id)).map(drop)
}
