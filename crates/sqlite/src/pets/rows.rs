//! Rows of the table `pet`.

use petstore_domain::{
    CategoryId, Corruption, NewPet, Pet, PetId, PetName, PetPage, PetQuery, PetStatus, StoreError,
};
use rusqlite::{Connection, ErrorCode, Params, Row, ffi, params};

use crate::error::Failure;

pub(crate) const INSERT: &str = "INSERT INTO pet (name, category_id, status) VALUES (?1, ?2, ?3)";
pub(crate) const HIGHEST_ID: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'pet'";
const BEGIN_SEQUENCE: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT 'pet', 0 \
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pet')";
const RAISE_SEQUENCE: &str = "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'pet' AND seq < ?1";
pub(crate) const RESTORE: &str = "INSERT INTO pet (id, name, category_id, status) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
pub(crate) const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ?1";
/// Animals from an identifier on.
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

/// Returns the statement for a page of one status. All that it reads of an animal is in the index. The status is not read: it
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

/// Explains why a store is full: SQLite calls it so, as it calls a disk, when the highest identifier is taken.
fn explain_full(connection: &Connection, error: rusqlite::Error) -> rusqlite::Error {
    let highest = || connection.query_row(HIGHEST_ID, [], |row| row.get(0));
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) && highest() == Ok(i64::MAX) {
        let message = format!("no identifier is left: the highest, {}, is taken", i64::MAX);
        return rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some(message));
    }
    error
}

/// Adds an animal under its own identifier. Returns `false` if that is taken.
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

pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    id: PetId,
) -> Result<Option<Pet>, Failure<E>> {
    Ok(select(connection, FIND, [id.0], None, 1)?.pets.pop())
}

/// Returns up to `limit` animals above `after`, ascending by identifier.
pub(crate) fn after(
    connection: &Connection,
    after: Option<PetId>,
    limit: u32,
) -> Result<Vec<Pet>, Failure<StoreError>> {
    let Some(first) = first_after(after) else { return Ok(Vec::new()) };
    Ok(select(connection, PAGE, params![first, limit], None, limit as usize)?.pets)
}

pub(crate) fn page(
    connection: &Connection,
    query: &PetQuery,
) -> Result<PetPage, Failure<StoreError>> {
    let Some(first) = first_after(query.after) else { return Ok(PetPage::default()) };
    let (sql, limit) = (query.status.map_or(PAGE, page_with), query.limit.get());
    let values = params![first, i64::from(limit) + 1];
    select(connection, sql, values, query.status, limit.into())
}

/// Returns the lowest identifier above `after`.
fn first_after(after: Option<PetId>) -> Option<i64> {
    after.map_or(Some(i64::MIN), |id| id.0.checked_add(1))
}

/// Returns up to `limit` animals, and whether there is a row more.
fn select<E: From<StoreError>>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    known_status: Option<PetStatus>,
    limit: usize,
) -> Result<PetPage, Failure<E>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut pets = Vec::with_capacity(limit);
    while let Some(row) = rows.next()? {
        if pets.len() == limit {
            return Ok(PetPage { pets, more: true });
        }
        pets.push(pet(row, known_status)?);
    }
    Ok(PetPage { pets, more: false })
}

/// Returns the animal of a row, through the domain's constructors. A status that is `known` is not read.
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
    let value = row.get_ref(3).map_err(|error| error.to_string())?;
    let text = value.as_str_or_null().map_err(|error| error.to_string())?;
    text.map(PetStatus::parse).transpose().map_err(|error| error.to_string())
}
