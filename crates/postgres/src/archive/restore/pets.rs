//! Animals.

use std::collections::HashMap;

use petstore_domain::{NewPet, Pet, PetId, Resolution, RestoreError};

use crate::{
    error::StoreFailure,
    pets::rows::{self, Columns},
    transaction::Transaction,
    values::Values,
};

const INSERT: &str = "INSERT INTO pet (id, name, category_id, status) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
     ON CONFLICT DO NOTHING";
const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ANY($1)";

/// Writes animals under their own identifiers; how many were not there before.
pub(super) async fn restore(transaction: &Transaction, pets: &[Pet]) -> Result<u64, RestoreError> {
    let Columns { ids, names, categories, statuses } = Columns::from_pets(pets);
    let values: Values<'_> = &[&ids, &names, &categories, &statuses];
    let added = transaction.execute(INSERT, values).await?;
    if usize::try_from(added) == Ok(pets.len()) {
        return Ok(added);
    }
    // Some were there already: each must be there as it was given.
    let rows = transaction.rows(FIND, &[&ids]).await?;
    let mut stored: HashMap<PetId, Pet> = HashMap::with_capacity(rows.len());
    for row in &rows {
        let pet = rows::pet(row, 0)?;
        stored.insert(pet.id, pet);
    }
    for pet in pets {
        Resolution::of_pet(stored.get(&pet.id), pet)?;
    }
    Ok(added)
}

/// Writes animals under new identifiers, in their order.
pub(super) async fn insert(transaction: &Transaction, pets: &[NewPet]) -> Result<(), StoreFailure> {
    let mut columns = Columns::default();
    for pet in pets {
        columns.push(None, pet);
    }
    let Columns { ids, names, categories, statuses } = columns;
    transaction.rows(rows::INSERT, &[&ids, &names, &categories, &statuses]).await?;
    Ok(())
}
