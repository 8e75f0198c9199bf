//! Animals of a restore.

use petstore_domain::{NewPet, Pet, PetStatus, RestoreError};
use rusqlite::{Connection, params};

use super::conflict;
use crate::{
    error::Failure,
    pets::rows::{INSERT, find},
};

/// AUTOINCREMENT moves the table's sequence on to every identifier that is written, so the store
/// assigns none at or below it again.
const RESTORE: &str = "INSERT INTO pet (id, name, category_id, status) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";

pub(super) fn restore(connection: &Connection, pets: &[Pet]) -> Result<u64, Failure<RestoreError>> {
    let mut statement = connection.prepare_cached(RESTORE)?;
    let mut added = 0;
    for pet in pets {
        let Pet { id, name, category_id, status } = pet;
        let status = status.map(PetStatus::as_str);
        if statement.execute(params![id.0, name.as_str(), category_id.0, status])? == 1 {
            added += 1;
        } else if find::<RestoreError>(connection, *id)?.map(|there| there.value).as_ref()
            != Some(pet)
        {
            return Err(conflict(format_args!("animal {id}")));
        }
    }
    Ok(added)
}

pub(super) fn insert(
    connection: &Connection,
    pets: &[NewPet],
) -> Result<(), Failure<RestoreError>> {
    let mut statement = connection.prepare_cached(INSERT)?;
    for NewPet { name, category_id, status } in pets {
        let status = status.map(PetStatus::as_str);
        statement.execute(params![name.as_str(), category_id.0, status])?;
    }
    Ok(())
}
