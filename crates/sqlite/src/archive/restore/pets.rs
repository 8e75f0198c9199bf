//! Animals of a restore.

use petstore_domain::{NewPet, Pet, RestoreError};
use rusqlite::Connection;

use super::conflict;
use crate::{
    error::Failure,
    pets::{
        identifiers::Identifiers,
        rows::{INSERT, find, put},
    },
};

pub(super) fn restore(connection: &Connection, pets: &[Pet]) -> Result<u64, Failure<RestoreError>> {
    let mut statement =
        connection.prepare_cached(&format!("{INSERT} ON CONFLICT (id) DO NOTHING"))?;
    let mut added = 0;
    for pet in pets {
        if put(&mut statement, pet)? == 1 {
            added += 1;
        } else if find::<RestoreError>(connection, pet.id)?.map(|there| there.value).as_ref()
            != Some(pet)
        {
            return Err(conflict(format_args!("animal {}", pet.id)));
        }
    }
    Ok(added)
}

pub(super) fn insert(
    connection: &Connection,
    pets: Vec<NewPet>,
) -> Result<(), Failure<RestoreError>> {
    let mut identifiers = Identifiers::begin(connection)?;
    let mut statement = connection.prepare_cached(INSERT)?;
    for pet in pets {
        put(&mut statement, &pet.with_id(identifiers.next()?))?;
    }
    Ok(())
}
