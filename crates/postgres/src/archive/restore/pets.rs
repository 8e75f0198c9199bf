//! Animals.
//!
//! Where none of them can be there yet, they are written by a binary `COPY`, which takes a quarter of
//! the time of an `INSERT` from arrays (`docs/PERFORMANCE.md`). It can neither pass over a row that is
//! there nor be used in a session that a pooler shares out: there the `INSERT` serves.

use std::collections::HashMap;

use petstore_domain::{NewPet, Pet, PetId, Resolution, RestoreError, StoreError};

use crate::{
    connection::Connection,
    error::StoreFailure,
    pets::rows::{self, Columns},
    values::{Value, Values, scalar},
};

const COPY: &str = "COPY pet (id, name, category_id, status) FROM STDIN (FORMAT binary)";
const COPY_NEW: &str = "COPY pet (name, category_id, status) FROM STDIN (FORMAT binary)";
/// In the order of the index, so that it is never looked for in all of the table.
const FIND_FIRST: &str = "SELECT id FROM pet WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT 1";
/// Inserts those that are not there, and counts them.
const INSERT: &str = "WITH added AS (INSERT INTO pet (id, name, category_id, status) \
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
       ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM added";
const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ANY($1)";

/// Writes animals under their own identifiers; how many were not there before. The lock keeps others
/// from adding one meanwhile.
pub(super) async fn restore(transaction: &Connection, pets: &[Pet]) -> Result<u64, RestoreError> {
    if are_new(transaction, pets).await?
        && let Some(added) = copy(transaction, pets).await?
    {
        return Ok(added);
    }
    merge(transaction, pets).await
}

/// Whether they ascend, and none is there in their range.
async fn are_new(transaction: &Connection, pets: &[Pet]) -> Result<bool, StoreFailure> {
    let [first, .., last] = pets else { return Ok(false) };
    if !pets.is_sorted_by(|one, next| one.id < next.id) {
        return Ok(false);
    }
    Ok(transaction.query(FIND_FIRST, &[&first.id.0, &last.id.0]).await?.is_empty())
}

async fn copy(transaction: &Connection, pets: &[Pet]) -> Result<Option<u64>, StoreFailure> {
    let Columns { ids, names, categories, statuses } = Columns::from_pets(pets);
    let rows = (0..pets.len()).map(|row| -> [&dyn Value; 4] {
        [&ids[row], &names[row], &categories[row], &statuses[row]]
    });
    transaction.copy(COPY, rows).await
}

/// Writes those that are not there, and compares the others.
async fn merge(transaction: &Connection, pets: &[Pet]) -> Result<u64, RestoreError> {
    let Columns { ids, names, categories, statuses } = Columns::from_pets(pets);
    let values: Values<'_> = &[&ids, &names, &categories, &statuses];
    let added: i64 = scalar(&transaction.query(INSERT, values).await?)?;
    let added = u64::try_from(added).unwrap_or_default();
    if usize::try_from(added) == Ok(pets.len()) {
        return Ok(added);
    }
    // Some were there already: each must be there as it was given.
    let rows = transaction.query(FIND, &[&ids]).await?;
    let mut stored: HashMap<PetId, Pet> = HashMap::with_capacity(rows.len());
    for row in &rows {
        let pet = rows::pet(row, 0).map_err(StoreError::from)?;
        stored.insert(pet.id, pet);
    }
    for pet in pets {
        Resolution::of_pet(stored.get(&pet.id), pet)?;
    }
    Ok(added)
}

/// Writes animals under new identifiers, in their order.
pub(super) async fn insert(transaction: &Connection, pets: &[NewPet]) -> Result<(), StoreFailure> {
    let mut columns = Columns::default();
    for pet in pets {
        columns.push(None, pet);
    }
    let Columns { ids, names, categories, statuses } = columns;
    // Rows are copied one by one, so identifiers are assigned in their order.
    let rows = (0..pets.len())
        .map(|row| -> [&dyn Value; 3] { [&names[row], &categories[row], &statuses[row]] });
    if transaction.copy(COPY_NEW, rows).await?.is_none() {
        transaction.query(rows::INSERT, &[&ids, &names, &categories, &statuses]).await?;
    }
    Ok(())
}
