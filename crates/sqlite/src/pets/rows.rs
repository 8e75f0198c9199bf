//! Rows of the tables `pet` and `idempotency`.

use petstore_domain::{
    CatalogueVersion, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, NewPet, Pet,
    PetId, PetPage, PetStatus, RecordPosition, StoreError, Timestamp, Versioned,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params, types::ValueRef};

use crate::{
    connection::Statements,
    error::{Failure, unreadable},
    version,
};

pub(crate) const INSERT: &str = "INSERT INTO pet (name, category_id, status) VALUES (?1, ?2, ?3)";
/// Selects the highest identifier ever assigned or stored; 0 if there was none.
pub(crate) const HIGHEST_ID: &str = "SELECT max(coalesce((SELECT max(id) FROM pet), 0), \
     coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pet'), 0))";
pub(crate) const RESTORE: &str = "INSERT INTO pet (id, name, category_id, status) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
/// Selects the animal and the version in one row, also if there is no such animal. A second statement for the version
/// would take 2,000 instructions.
pub(crate) const FIND: &str = "SELECT id, name, category_id, status, version \
     FROM petstore_state LEFT JOIN pet ON id = ?1 WHERE only = 1";
/// Selects animals with identifiers from `?1`.
pub(crate) const PAGE: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= ?1 ORDER BY id LIMIT ?2";

macro_rules! page_with_status {
    ($index:literal, $status:literal) => {
        concat!(
            "SELECT id, name, category_id FROM pet INDEXED BY ",
            concat!($index, " WHERE status = '", $status, "' "),
            "AND id >= ?1 ORDER BY id LIMIT ?2"
        )
    };
}

/// Returns the statement for a page of one status. The statement reads the index alone, because the filter gives the
/// status.
///
/// With statistics (`ANALYZE`), the planner might otherwise read every animal; `INDEXED BY` forces the index.
pub(crate) const fn page_with(status: PetStatus) -> &'static str {
    match status {
        PetStatus::Available => page_with_status!("pet_available", "available"),
        PetStatus::Pending => page_with_status!("pet_pending", "pending"),
        PetStatus::Sold => page_with_status!("pet_sold", "sold"),
    }
}

/// Adds an animal under the next identifier. Returns the identifier.
pub(crate) fn insert(statements: &mut Statements<'_>, pet: &NewPet) -> rusqlite::Result<PetId> {
    let NewPet { name, category_id, status } = pet;
    let values = params![name.as_str(), category_id.0, status.map(PetStatus::as_str)];
    statements.get(INSERT)?.insert(values).map(PetId)
}

/// Fails if fewer than `count` identifiers are left. Without this check, the insertion would fail with the error of a
/// full disk, and SQLite would undo the whole transaction.
pub(crate) fn require_identifiers(connection: &Connection, count: usize) -> Result<(), StoreError> {
    let highest = highest(connection).map_err(StoreError::unavailable)?;
    let left = i64::MAX - highest.map_or(0, |id| id.0);
    if usize::try_from(left).is_ok_and(|left| left >= count) {
        return Ok(());
    }
    Err(StoreError::refused(format_args!("no identifier is left: the highest is {}", i64::MAX)))
}

/// Returns the highest identifier ever assigned or stored.
pub(crate) fn highest(connection: &Connection) -> rusqlite::Result<Option<PetId>> {
    let highest = connection.prepare_cached(HIGHEST_ID)?.query_row([], |row| row.get(0))?;
    Ok((highest > 0).then_some(PetId(highest)))
}

/// Adds an animal under its own identifier. Returns `false` if a stored row has this identifier.
pub(crate) fn restore(statements: &mut Statements<'_>, pet: &Pet) -> rusqlite::Result<bool> {
    let Pet { id, name, category_id, status } = pet;
    let values = params![id.0, name.as_str(), category_id.0, status.map(PetStatus::as_str)];
    Ok(statements.get(RESTORE)?.execute(values)? == 1)
}

/// Returns the animal `id` with the version of its snapshot, unless `permit` refuses that version.
pub(crate) fn find(
    connection: &Connection,
    id: PetId,
    permit: impl FnOnce(Option<CatalogueVersion>) -> Result<(), Failure>,
) -> Result<Versioned<Option<Pet>>, Failure> {
    let mut statement = connection.prepare_cached(FIND)?;
    // The snapshot lasts as long as the rows.
    let mut rows = statement.query([id.0])?;
    let row = rows.next()?.ok_or_else(version::missing)?;
    let version = version::of_column(row, 4)?;
    permit(version)?;
    let is_present = row.get_ref(0)? != ValueRef::Null;
    let value = is_present.then(|| pet(row, None)).transpose()?;
    Ok(Versioned { value, version })
}

/// Returns up to `limit` animals above `after`, ascending by identifier, and whether another row follows.
pub(crate) fn page(
    connection: &Connection,
    after: Option<PetId>,
    status: Option<PetStatus>,
    limit: u32,
) -> Result<PetPage, Failure> {
    let Some(first) = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1)) else {
        return Ok(PetPage::default());
    };
    let mut statement = connection.prepare_cached(status.map_or(PAGE, page_with))?;
    let mut rows = statement.query([first, i64::from(limit) + 1])?;
    let mut pets = Vec::with_capacity(limit as usize);
    while let Some(row) = rows.next()? {
        if pets.len() == limit as usize {
            return Ok(PetPage { pets, more: true });
        }
        pets.push(pet(row, status)?);
    }
    Ok(PetPage { pets, more: false })
}

/// Returns the animal of a row. If the status is `known`, its column is not read.
fn pet(row: &Row<'_>, known: Option<PetStatus>) -> Result<Pet, Corruption> {
    let read = || -> rusqlite::Result<_> {
        // `get_ref` takes fewer instructions than `get`.
        let status = if known.is_none() { row.get_ref(3)?.as_str_or_null()? } else { None };
        Ok((
            row.get_ref(0)?.as_i64()?,
            row.get_ref(1)?.as_str()?,
            row.get_ref(2)?.as_i64()?,
            status,
        ))
    };
    let (id, name, category, status) = read().map_err(|error| unreadable(row, "animal", &error))?;
    let pet = Pet::from_stored(id, name, category, status)?;
    Ok(Pet { status: known.or(pet.status), ..pet })
}

pub(crate) const RECORD: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ?1";
pub(crate) const RECORDS_AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (pet_id, id) > (?1, ?2) ORDER BY pet_id, id LIMIT ?3";
pub(crate) const INSERT_RECORD: &str =
    "INSERT INTO idempotency (id, fingerprint, pet_id, created_at) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const DELETE_RECORD: &str = "DELETE FROM idempotency WHERE id = ?1";
/// Deletes up to `?2` records made at or before `?1`, the oldest first.
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE id IN \
     (SELECT id FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";

/// Returns the record `id`.
pub(crate) fn find_record(
    statements: &mut Statements<'_>,
    id: IdempotencyId,
) -> Result<Option<IdempotencyRecord>, Failure> {
    let found = statements.get(RECORD)?.query_row([id.0], |row| Ok(record(row)));
    Ok(found.optional()?.transpose()?)
}

/// Returns up to `limit` records after `after`, in the order of [`RecordPosition`].
pub(crate) fn records_after(
    connection: &Connection,
    after: Option<RecordPosition>,
    limit: u32,
) -> Result<Vec<IdempotencyRecord>, Failure> {
    // Every id is greater than the empty blob.
    let (pet, id) = after.as_ref().map_or((i64::MIN, &[][..]), |after| (after.pet.0, &after.id.0));
    let mut statement = connection.prepare_cached(RECORDS_AFTER)?;
    let records = statement.query_map(params![pet, id, limit], |row| Ok(record(row)))?;
    records.map(|record| Ok(record??)).collect()
}

/// Stores a record, which replaces `stored`.
pub(crate) fn write_record(
    statements: &mut Statements<'_>,
    stored: Option<&IdempotencyRecord>,
    record: &IdempotencyRecord,
) -> rusqlite::Result<()> {
    let IdempotencyRecord { id, fingerprint, pet, at } = record;
    if stored.is_some() {
        statements.get(DELETE_RECORD)?.execute([id.0])?;
    }
    let values = params![id.0, fingerprint.0, pet.0, at.0];
    statements.get(INSERT_RECORD)?.execute(values).map(drop)
}

/// Returns the record of a row.
fn record(row: &Row<'_>) -> Result<IdempotencyRecord, Corruption> {
    let broken = |rule: rusqlite::Error| Corruption::new("an idempotency record", rule);
    let (id, fingerprint, pet, at) = row.try_into().map_err(broken)?;
    let (id, fingerprint) = (IdempotencyId(id), Fingerprint(fingerprint));
    Ok(IdempotencyRecord { id, fingerprint, pet: PetId(pet), at: Timestamp(at) })
}
