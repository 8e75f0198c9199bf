//! The writes of one call, in one transaction.

use petstore_domain::{
    ApiKey, ArchiveError, IdempotencyRecord, IdempotencyRequest, NewPet, Pet, Resolution, Rows,
};
use rusqlite::Connection;

use crate::{
    api_keys::rows as keys,
    connection::Statements,
    error::Failure,
    pets::{idempotency, rows as pets},
};

pub(crate) const BEGIN_SEQUENCE: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 \
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)";
pub(crate) const RAISE_SEQUENCE: &str =
    "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2";

/// The number of added animals, and the number of rewrites if there are any.
type Written = (u64, Option<i64>);

/// Writes rows under their own identifiers.
pub(super) fn rows(
    statements: &mut Statements<'_>,
    rows: &Rows,
) -> Result<Written, Failure<ArchiveError>> {
    let connection = statements.connection;
    let Rows { pets, keys, records, highest } = rows;
    let mut added = 0;
    for pet in pets {
        added += u64::from(write_pet(statements, pet)?);
    }
    keys.iter().try_for_each(|key| write_key(connection, key))?;
    if !keys.is_empty() {
        keys::renew(connection)?;
    }
    records.iter().try_for_each(|record| write_record(statements, record))?;
    assign_above(connection, "pet", highest.pet.map(|id| id.0))?;
    assign_above(connection, "api_key", highest.key.map(|id| id.0))?;
    Ok((added, (added > 0).then_some(1)))
}

/// Adds animals under new identifiers, unless `request` is a repeat.
pub(super) fn new_pets(
    statements: &mut Statements<'_>,
    pets: &[NewPet],
    request: Option<IdempotencyRequest>,
) -> Result<Written, Failure<ArchiveError>> {
    let stored = match &request {
        Some(request) => idempotency::find(statements, request.id)?,
        None => None,
    };
    let resolution = request.map(|request| Resolution::of_new_pets(stored.as_ref(), &request));
    if resolution.transpose().map_err(Failure::Answer)? == Some(Resolution::Keep) {
        return Ok((0, None));
    }
    pets::require_identifiers(statements.connection, pets.len())?;
    let mut request = request;
    for pet in pets {
        let id = pets::insert(statements, pet)?;
        if let Some(request) = request.take() {
            idempotency::write(statements, stored.as_ref(), &request.into_record(id))?;
        }
    }
    Ok((pets.len() as u64, (!pets.is_empty()).then_some(0)))
}

/// Writes an animal under its own identifier. Returns `false` if it is stored already.
fn write_pet(statements: &mut Statements<'_>, pet: &Pet) -> Result<bool, Failure<ArchiveError>> {
    if pets::restore(statements, pet)? {
        return Ok(true);
    }
    let stored = pets::find::<ArchiveError>(statements.connection, pet.id, |_| Ok(()))?;
    Resolution::of_pet(stored.value.as_ref(), pet).map_err(Failure::Answer)?;
    Ok(false)
}

fn write_key(connection: &Connection, key: &ApiKey) -> Result<(), Failure<ArchiveError>> {
    let found = keys::find(connection, key.id, &key.digest)?;
    let stored = found.iter().find(|stored| stored.id == key.id);
    let owner = found.iter().find(|stored| stored.digest == key.digest).map(|owner| owner.id);
    let resolved = Resolution::of_key(stored, owner, key).map_err(Failure::Answer)?;
    keys::write(connection, &resolved)?;
    match resolved.last_used_at {
        Some(at) => Ok(keys::note_use(connection, resolved.id, at)?),
        None => Ok(()),
    }
}

fn write_record(
    statements: &mut Statements<'_>,
    record: &IdempotencyRecord,
) -> Result<(), Failure<ArchiveError>> {
    let stored = idempotency::find(statements, record.id)?;
    match Resolution::of_record(stored.as_ref(), record).map_err(Failure::Answer)? {
        Resolution::Keep => Ok(()),
        Resolution::Write => Ok(idempotency::write(statements, stored.as_ref(), record)?),
    }
}

/// Raises the next identifier of a table above `id`.
fn assign_above(connection: &Connection, table: &str, id: Option<i64>) -> rusqlite::Result<()> {
    let Some(id) = id else { return Ok(()) };
    connection.prepare_cached(BEGIN_SEQUENCE)?.execute([table])?;
    connection.prepare_cached(RAISE_SEQUENCE)?.execute((table, id)).map(drop)
}
