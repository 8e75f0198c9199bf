//! Rows of the table `pet`.

use petstore_domain::{
    CategoryId, Corruption, NewPet, Pet, PetId, PetName, PetPage, PetQuery, PetStatus, StoreError,
    Versioned,
};
use rusqlite::{Connection, ErrorCode, Row, ffi, params};

use crate::{error::Failure, version};

pub(crate) const INSERT: &str = "INSERT INTO pet (name, category_id, status) VALUES (?1, ?2, ?3)";
pub(crate) const HIGHEST_ID: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'pet'";
const BEGIN_SEQUENCE: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT 'pet', 0 \
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pet')";
const RAISE_SEQUENCE: &str = "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'pet' AND seq < ?1";
pub(crate) const RESTORE: &str = "INSERT INTO pet (id, name, category_id, status) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
/// The version comes with each row, so it is of the very state that the row was read from.
pub(crate) const FIND: &str = "SELECT id, name, category_id, \
     (SELECT version FROM catalogue WHERE only = 1), status FROM pet WHERE id = ?1";
pub(crate) const PAGE: &str = "SELECT id, name, category_id, \
     (SELECT version FROM catalogue WHERE only = 1), status FROM pet \
     WHERE id > ?1 ORDER BY id LIMIT ?2";
/// Where they have the version.
const VERSION: usize = 3;

/// All animals in batches, from one on.
pub(crate) const FROM: &str = "SELECT id, name, category_id, NULL, status FROM pet \
     WHERE id >= ?1 ORDER BY id LIMIT ?2";

macro_rules! page_with_status {
    ($index:literal, $status:literal) => {
        concat!(
            "SELECT id, name, category_id, (SELECT version FROM catalogue WHERE only = 1) FROM pet ",
            concat!("INDEXED BY ", $index, " WHERE status = '", $status, "' "),
            "AND id > ?1 ORDER BY id LIMIT ?2"
        )
    };
}

/// A page of one status. All that it reads of an animal is in the index. The status is not read: it
/// is the filter's.
///
/// The index is named so that no statistics (`ANALYZE`) ever talk the planner into reading every
/// animal for the few of one status.
pub(crate) const fn page_with(status: PetStatus) -> &'static str {
    match status {
        PetStatus::Available => page_with_status!("pet_available", "available"),
        PetStatus::Pending => page_with_status!("pet_pending", "pending"),
        PetStatus::Sold => page_with_status!("pet_sold", "sold"),
    }
}

/// Adds an animal under the next identifier.
pub(crate) fn insert(connection: &Connection, pet: NewPet) -> rusqlite::Result<Pet> {
    let NewPet { name, category_id, status } = &pet;
    let values = params![name.as_str(), category_id.0, status.map(PetStatus::as_str)];
    let inserted = connection.prepare_cached(INSERT)?.insert(values);
    let id = inserted.map_err(|error| explain_full(connection, error))?;
    Ok(pet.with_id(PetId(id)))
}

/// SQLite calls a store full, as it calls a disk, when the highest identifier is taken.
fn explain_full(connection: &Connection, error: rusqlite::Error) -> rusqlite::Error {
    let highest = || connection.query_row(HIGHEST_ID, [], |row| row.get(0));
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) && highest() == Ok(i64::MAX) {
        let message = format!("no identifier is left: the highest, {}, is taken", i64::MAX);
        return rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some(message));
    }
    error
}

/// Adds an animal under its own identifier. `false` if that is taken.
pub(crate) fn restore(connection: &Connection, pet: &Pet) -> rusqlite::Result<bool> {
    let Pet { id, name, category_id, status } = pet;
    let values = params![id.0, name.as_str(), category_id.0, status.map(PetStatus::as_str)];
    Ok(connection.prepare_cached(RESTORE)?.execute(values)? == 1)
}

/// Lets the next identifier be above `id`.
pub(crate) fn assign_above(connection: &Connection, id: PetId) -> rusqlite::Result<()> {
    connection.prepare_cached(BEGIN_SEQUENCE)?.execute([])?;
    connection.prepare_cached(RAISE_SEQUENCE)?.execute([id.0]).map(drop)
}

/// Up to `limit` animals above `after`, ascending by identifier.
pub(crate) fn after(
    connection: &Connection,
    after: Option<PetId>,
    limit: u32,
) -> Result<Vec<Pet>, Failure<StoreError>> {
    let from = match after {
        None => i64::MIN,
        Some(PetId(i64::MAX)) => return Ok(Vec::new()),
        Some(PetId(id)) => id + 1,
    };
    let mut statement = connection.prepare_cached(FROM)?;
    let mut rows = statement.query(params![from, limit])?;
    let mut pets = Vec::new();
    while let Some(row) = rows.next()? {
        pets.push(pet(row, None)?);
    }
    Ok(pets)
}

pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    id: PetId,
) -> Result<Option<Versioned<Pet>>, Failure<E>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Versioned { value: pet(row, None)?, version: version::from_column(row, VERSION)? }))
}

/// A page and its version.
pub(crate) fn page<E: From<StoreError>>(
    connection: &Connection,
    query: &PetQuery,
) -> Result<Versioned<PetPage>, Failure<E>> {
    if let Some(page) = page_with_rows(connection, query)? {
        return Ok(page);
    }
    // No row has brought the version, and a query of its own might see a later state.
    version::in_snapshot(connection, |version| {
        let empty = || Versioned { value: PetPage::default(), version };
        Ok(page_with_rows(connection, query)?.unwrap_or_else(empty))
    })
}

/// A page and its version; `None` if no animal is on it.
fn page_with_rows<E: From<StoreError>>(
    connection: &Connection,
    query: &PetQuery,
) -> Result<Option<Versioned<PetPage>>, Failure<E>> {
    let after = query.after.map_or(i64::MIN, |id| id.0);
    let limit = usize::from(query.limit.get());
    let mut statement = connection.prepare_cached(query.status.map_or(PAGE, page_with))?;
    let mut rows = statement.query(params![after, i64::from(query.limit.get()) + 1])?;
    let (mut version, mut more, mut pets) = (None, false, Vec::with_capacity(limit));
    while let Some(row) = rows.next()? {
        if pets.is_empty() {
            version = Some(version::from_column(row, VERSION)?);
        }
        if pets.len() == limit {
            more = true;
            break;
        }
        pets.push(pet(row, query.status)?);
    }
    Ok(version.map(|version| Versioned { value: PetPage { pets, more }, version }))
}

/// The animal of a row, through the domain's constructors. A status that is `known` is not read.
fn pet(row: &Row<'_>, known: Option<PetStatus>) -> Result<Pet, Corruption> {
    let id = row.get(0).map(PetId).map_err(|error| Corruption::new("an animal", error))?;
    let broken = |field: &str, rule: String| {
        Corruption::new(format_args!("animal {id}"), format_args!("its {field} {rule}"))
    };
    let category = row.get(2).map_err(|error| broken("category", error.to_string()))?;
    let status = if known.is_some() { Ok(known) } else { status(row) };
    Ok(Pet {
        id,
        name: name(row).map_err(|rule| broken("name", rule))?,
        category_id: CategoryId(category),
        status: status.map_err(|rule| broken("status", rule))?,
    })
}

fn name(row: &Row<'_>) -> Result<PetName, String> {
    let text: String = row.get(1).map_err(|error| error.to_string())?;
    PetName::parse(text).map_err(|error| error.to_string())
}

fn status(row: &Row<'_>) -> Result<Option<PetStatus>, String> {
    let value = row.get_ref(4).map_err(|error| error.to_string())?;
    let text = value.as_str_or_null().map_err(|error| error.to_string())?;
    text.map(PetStatus::parse).transpose().map_err(|error| error.to_string())
}
