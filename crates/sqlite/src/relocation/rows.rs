//! The row of the table `relocation`, which is there only while the store is being moved.

use petstore_domain::{
    Changes, Corruption, Differences, IdempotencyRecord, PetId, Purged, Relocation, Role,
    StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::{
    error::Failure,
    pets::{
        idempotency::{self, recent::RecentRecords},
        rows as pets,
    },
    schema::OF_A_MOVE,
};

const DROP: &str = "DROP INDEX idempotency_by_pet; DROP TABLE relocation";
pub(crate) const EXISTS: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'relocation')";
const ROLE: &str = "SELECT role FROM relocation WHERE only = 1";
const SELECT: &str =
    "SELECT role, revision, peer, differences, last_difference FROM relocation WHERE only = 1";
const INSERT: &str = "INSERT INTO relocation \
     (only, role, revision, peer, differences, last_difference) VALUES (1, ?1, ?2, ?3, ?4, ?5)";
const CHANGE: &str =
    "UPDATE relocation SET role = ?2, revision = ?3, peer = ?4 WHERE revision = ?1";
const NOTE: &str =
    "UPDATE relocation SET differences = differences + ?1, last_difference = ?2 WHERE only = 1";
const HORIZON: &str = "SELECT max(id) FROM pet";
pub(crate) const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at \
     FROM idempotency WHERE pet_id BETWEEN ?1 AND ?2";
pub(crate) const OLDEST_RECORD: &str = "SELECT min(created_at) FROM idempotency";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE seq IN (SELECT seq \
     FROM idempotency WHERE created_at < ?1 AND pet_id <= ?2 ORDER BY created_at LIMIT ?3) \
     RETURNING id, seq";

/// Whether the store is being moved.
pub(crate) fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached(EXISTS)?.query_row([], |row| row.get(0))
}

/// The role of the store, where the table is there.
pub(crate) fn role(connection: &Connection) -> Result<Role, Failure<StoreError>> {
    let word: String = connection.prepare_cached(ROLE)?.query_row([], |row| row.get(0))?;
    Ok(Role::parse(&word).ok_or_else(|| unknown(&word))?)
}

/// The row. Both queries must see one state, so a transaction must be open.
pub(super) fn find(connection: &Connection) -> Result<Option<Relocation>, Failure<StoreError>> {
    if !exists(connection)? {
        return Ok(None);
    }
    let found = connection.prepare_cached(SELECT)?.query_row([], |row| Ok(relocation(row)));
    Ok(found.optional()?.transpose()?)
}

fn relocation(row: &Row<'_>) -> Result<Relocation, Corruption> {
    let read = || -> rusqlite::Result<_> {
        let differences = Differences { count: row.get(3)?, last: row.get(4)? };
        Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, differences))
    };
    let (word, revision, peer, differences) =
        read().map_err(|error| Corruption::new("its row of a move", error))?;
    let role = Role::parse(&word).ok_or_else(|| unknown(&word))?;
    Ok(Relocation { role, revision, peer, differences })
}

fn unknown(word: &str) -> Corruption {
    Corruption::new("its row of a move", format_args!("the role is known, not '{word}'"))
}

/// Makes the table and its row, unless they are there.
pub(super) fn begin(connection: &Connection, row: &Relocation) -> rusqlite::Result<bool> {
    if exists(connection)? {
        return Ok(false);
    }
    connection.execute_batch(OF_A_MOVE)?;
    let Relocation { role, revision, peer, differences: Differences { count, last } } = row;
    connection.execute(INSERT, params![role.as_str(), revision, peer, count, last])?;
    Ok(true)
}

/// Replaces the row if it has this revision.
pub(super) fn change(
    connection: &Connection,
    expected: i64,
    row: &Relocation,
) -> rusqlite::Result<bool> {
    let Relocation { role, revision, peer, differences: _ } = row;
    Ok(exists(connection)?
        && connection.execute(CHANGE, params![expected, role.as_str(), revision, peer])? == 1)
}

/// Drops the table if its row has this revision.
pub(super) fn end(connection: &Connection, expected: i64) -> Result<bool, Failure<StoreError>> {
    let ends = find(connection)?.is_some_and(|row| row.revision == expected);
    if ends {
        connection.execute_batch(DROP)?;
    }
    Ok(ends)
}

/// Adds to the differences.
pub(super) fn note(
    connection: &Connection,
    Differences { count, last }: &Differences,
) -> rusqlite::Result<()> {
    if exists(connection)? {
        connection.execute(NOTE, params![count, last])?;
    }
    Ok(())
}

/// The highest identifier. It is assigned under the write lock, so none below it can appear any more.
pub(super) fn horizon(connection: &Connection) -> rusqlite::Result<Option<PetId>> {
    let highest: Option<i64> =
        connection.prepare_cached(HORIZON)?.query_row([], |row| row.get(0))?;
    Ok(highest.map(PetId))
}

/// Animals with their records; see [`Relocatable::changes`](petstore_domain::Relocatable::changes).
pub(super) fn changes(
    connection: &Connection,
    after: Option<PetId>,
    up_to: PetId,
    limit: u32,
) -> Result<Changes, Failure<StoreError>> {
    let mut pets = pets::after(connection, after, limit)?;
    pets.retain(|pet| pet.id <= up_to);
    let records = match (pets.first(), pets.last()) {
        (Some(first), Some(last)) => records(connection, first.id, last.id)?,
        _ => Vec::new(),
    };
    // Looked up last: what is purged after the records were read is purged from them too.
    let oldest: Option<i64> =
        connection.prepare_cached(OLDEST_RECORD)?.query_row([], |row| row.get(0))?;
    let purged = Purged::new(oldest.map(Timestamp), up_to);
    Ok(Changes { pets, records, keys: Vec::new(), purged: Some(purged) })
}

fn records(
    connection: &Connection,
    first: PetId,
    last: PetId,
) -> Result<Vec<IdempotencyRecord>, Failure<StoreError>> {
    let mut statement = connection.prepare_cached(RECORDS)?;
    let mut rows = statement.query([first.0, last.0])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(idempotency::record(row)?);
    }
    Ok(records)
}

/// Deletes records that the other store has purged.
pub(crate) fn purge(
    connection: &Connection,
    recent: &mut RecentRecords,
    purged: &Purged,
) -> rusqlite::Result<()> {
    let values = params![purged.before.0, purged.up_to.0, Purged::LIMIT];
    idempotency::delete(connection, recent, PURGE, values).map(drop)
}
