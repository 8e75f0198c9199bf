//! Idempotency records of a restore.

use petstore_domain::{IdempotencyRecord, PetId, RestoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::{super::rows, conflict};
use crate::{
    error::{Failure, corruption},
    pets::{self, attempts::RECORD},
};

const FIND: &str = "SELECT caller, key, fingerprint, pet_id, created_at FROM idempotency \
     WHERE caller = ?1 AND key = ?2";

pub(super) fn restore(
    connection: &Connection,
    record: &IdempotencyRecord,
) -> Result<(), Failure<RestoreError>> {
    let IdempotencyRecord { idempotency, fingerprint, pet, at } = record;
    must_exist(connection, *pet)?;
    let (caller, key) = (idempotency.caller.0, idempotency.key.as_str());
    let mut statement = connection.prepare_cached(FIND)?;
    let there = statement.query_row(params![caller, key], |row| Ok(rows::attempt(row)));
    match there.optional()?.transpose()? {
        Some(there) if there == *record => return Ok(()),
        Some(there) if there.at >= *at => {
            return Err(conflict(format_args!("idempotency record '{key}'")));
        }
        Some(_) | None => {}
    }
    connection.prepare_cached(RECORD)?.execute(params![caller, key, fingerprint.0, pet.0, at.0])?;
    Ok(())
}

fn must_exist(connection: &Connection, id: PetId) -> Result<(), Failure<RestoreError>> {
    if pets::rows::find::<RestoreError>(connection, id)?.is_some() {
        return Ok(());
    }
    Err(corruption(format_args!("an idempotency record of animal {id}"), "it exists").into())
}
