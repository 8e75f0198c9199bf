//! Rows of the table `pet`.

use petstore_domain::{
    CategoryId, Corruption, NewPet, PageLimit, Pet, PetId, PetName, PetPage, PetQuery, PetStatus,
    StoreError, Versioned,
};
use rusqlite::{Connection, Row, Rows, Statement, params};

use crate::{
    error::{Failure, corruption},
    version,
    writer::Session,
};

pub(crate) const INSERT: &str =
    "INSERT INTO pet (id, name, category_id, status) VALUES (?1, ?2, ?3, ?4)";
/// The mark stands beside each row, so it is of the very state that the row was read from.
pub(crate) const FIND: &str = "SELECT id, name, category_id, status, \
     (SELECT version FROM catalogue WHERE only = 1) FROM pet WHERE id = ?1";
pub(crate) const PAGE: &str = "SELECT id, name, category_id, status, \
     (SELECT version FROM catalogue WHERE only = 1) FROM pet \
     WHERE id > ?1 ORDER BY id LIMIT ?2";

macro_rules! page_of_status {
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
pub(crate) const fn page_of(status: PetStatus) -> &'static str {
    match status {
        PetStatus::Available => page_of_status!("pet_available", "available"),
        PetStatus::Pending => page_of_status!("pet_pending", "pending"),
        PetStatus::Sold => page_of_status!("pet_sold", "sold"),
    }
}

pub(crate) fn insert<E: From<StoreError>>(
    session: &Session<'_>,
    pet: NewPet,
) -> Result<Pet, Failure<E>> {
    let pet = pet.with_id(session.next_identifier()?);
    session.insert(&pet)?;
    Ok(pet)
}

/// Runs `statement`, which takes the values of [`INSERT`]; how many rows it has changed.
pub(crate) fn put(statement: &mut Statement<'_>, pet: &Pet) -> rusqlite::Result<usize> {
    let Pet { id, name, category_id, status } = pet;
    let status = status.map(PetStatus::as_str);
    statement.execute(params![id.0, name.as_str(), category_id.0, status])
}

pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    id: PetId,
) -> Result<Option<Versioned<Pet>>, Failure<E>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Versioned { value: pet(row)?, version: Some(version::of(row, MARK)?) }))
}

/// A page and its mark.
pub(super) fn page<E: From<StoreError>>(
    connection: &Connection,
    query: &PetQuery,
) -> Result<Versioned<PetPage>, Failure<E>> {
    if let Some(page) = page_with_rows(connection, query)? {
        return Ok(page);
    }
    // No row has told the mark, and read by itself it might be of a later state.
    version::in_snapshot(connection, |version| {
        let empty = || Versioned { value: PetPage::default(), version: Some(version) };
        Ok(page_with_rows(connection, query)?.unwrap_or_else(empty))
    })
}

/// A page and its mark; `None` if no animal is on it.
fn page_with_rows<E: From<StoreError>>(
    connection: &Connection,
    query: &PetQuery,
) -> Result<Option<Versioned<PetPage>>, Failure<E>> {
    let after = query.after.map_or(i64::MIN, |id| id.0);
    let one_more = i64::from(query.limit.get()) + 1;
    match query.status {
        None => {
            let mut statement = connection.prepare_cached(PAGE)?;
            let rows = statement.query(params![after, one_more])?;
            collect(rows, query.limit, MARK, pet)
        }
        Some(status) => {
            let mut statement = connection.prepare_cached(page_of(status))?;
            let rows = statement.query(params![after, one_more])?;
            collect(rows, query.limit, MARK_OF_STATUS, |row| pet_with_status(row, Some(status)))
        }
    }
}

/// The page of `rows`, of which there may be one more than `limit`, and the mark that the first one
/// has in the column `mark`; `None` if there is no row.
fn collect<E: From<StoreError>>(
    mut rows: Rows<'_>,
    limit: PageLimit,
    mark: usize,
    pet: impl Fn(&Row<'_>) -> Result<Pet, Corruption>,
) -> Result<Option<Versioned<PetPage>>, Failure<E>> {
    let limit = usize::from(limit.get());
    let Some(first) = rows.next()? else { return Ok(None) };
    let version = Some(version::of(first, mark)?);
    let mut pets = Vec::with_capacity(limit);
    pets.push(pet(first)?);
    while let Some(row) = rows.next()? {
        if pets.len() == limit {
            return Ok(Some(Versioned { value: PetPage { pets, more: true }, version }));
        }
        pets.push(pet(row)?);
    }
    Ok(Some(Versioned { value: PetPage { pets, more: false }, version }))
}

/// Where [`FIND`] and [`PAGE`] have the mark.
const MARK: usize = 4;
/// Where [`page_of`] has it.
const MARK_OF_STATUS: usize = 3;

/// The animal of a row, through the doors of the domain.
pub(crate) fn pet(row: &Row<'_>) -> Result<Pet, Corruption> {
    let pet = pet_with_status(row, None)?;
    let status = status(row).map_err(|rule| broken(pet.id, "status", &rule))?;
    Ok(Pet { status, ..pet })
}

/// The animal of a row, with a `status` that is not read from it.
fn pet_with_status(row: &Row<'_>, status: Option<PetStatus>) -> Result<Pet, Corruption> {
    let id = row.get(0).map(PetId).map_err(|error| corruption("an animal", error))?;
    Ok(Pet {
        id,
        name: name(row).map_err(|rule| broken(id, "name", &rule))?,
        category_id: row
            .get(2)
            .map(CategoryId)
            .map_err(|error| broken(id, "category", &error.to_string()))?,
        status,
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

fn broken(id: PetId, field: &str, rule: &str) -> Corruption {
    corruption(format!("animal {id}"), format!("its {field} {rule}"))
}
