//! Rows of the table `pet`.

use petstore_domain::{
    CategoryId, Corruption, NewPet, Pet, PetId, PetName, PetPage, PetQuery, PetStatus,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Failure, corruption};

pub(crate) const INSERT: &str = "INSERT INTO pet (name, category_id, status) VALUES (?1, ?2, ?3)";
pub(crate) const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ?1";
pub(crate) const PAGE: &str = "SELECT id, name, category_id, status FROM pet \
     WHERE id > ?1 ORDER BY id LIMIT ?2";
/// The index is named so that no statistics (`ANALYZE`) ever talk the planner into reading every
/// animal for the few of one status.
pub(crate) const PAGE_OF_STATUS: &str = "SELECT id, name, category_id, status FROM pet \
     INDEXED BY pet_by_status WHERE status = ?3 AND id > ?1 ORDER BY id LIMIT ?2";

pub(super) fn insert(connection: &Connection, pet: NewPet) -> rusqlite::Result<Pet> {
    let status = pet.status.map(PetStatus::as_str);
    connection.prepare_cached(INSERT)?.execute(params![
        pet.name.as_str(),
        pet.category_id.0,
        status
    ])?;
    Ok(pet.with_id(PetId(connection.last_insert_rowid())))
}

pub(crate) fn find<E: From<Corruption>>(
    connection: &Connection,
    id: PetId,
) -> Result<Option<Pet>, Failure<E>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let found = statement.query_row([id.0], |row| Ok(pet(row))).optional()?;
    Ok(found.transpose()?)
}

pub(super) fn page<E: From<Corruption>>(
    connection: &Connection,
    query: &PetQuery,
) -> Result<PetPage, Failure<E>> {
    let after = query.after.map_or(i64::MIN, |id| id.0);
    let limit = query.limit.get();
    let one_more = i64::from(limit) + 1;
    let mut statement = connection.prepare_cached(query.status.map_or(PAGE, |_| PAGE_OF_STATUS))?;
    let mut rows = match query.status {
        None => statement.query(params![after, one_more])?,
        Some(status) => statement.query(params![after, one_more, status.as_str()])?,
    };
    let mut pets = Vec::with_capacity(limit.into());
    while let Some(row) = rows.next()? {
        if pets.len() == usize::from(limit) {
            return Ok(PetPage { pets, more: true });
        }
        pets.push(pet(row)?);
    }
    Ok(PetPage { pets, more: false })
}

/// The animal of a row, through the doors of the domain.
pub(crate) fn pet(row: &Row<'_>) -> Result<Pet, Corruption> {
    let id = row.get(0).map(PetId).map_err(|error| corruption("an animal", error))?;
    Ok(Pet {
        id,
        name: name(row).map_err(|rule| broken(id, "name", &rule))?,
        category_id: row
            .get(2)
            .map(CategoryId)
            .map_err(|error| broken(id, "category", &error.to_string()))?,
        status: status(row).map_err(|rule| broken(id, "status", &rule))?,
    })
}

fn name(row: &Row<'_>) -> Result<PetName, String> {
    let text: String = row.get(1).map_err(|error| error.to_string())?;
    PetName::parse(text).map_err(|error| error.to_string())
}

fn status(row: &Row<'_>) -> Result<Option<PetStatus>, String> {
    let text: Option<String> = row.get(3).map_err(|error| error.to_string())?;
    text.map(|text| PetStatus::parse(&text)).transpose().map_err(|error| error.to_string())
}

fn broken(id: PetId, field: &str, rule: &str) -> Corruption {
    corruption(format!("animal {id}"), format!("its {field} {rule}"))
}
