//! Animals.

use std::collections::HashMap;

use petstore_domain::{NewPet, Pet, PetId, RestoreError};

use super::{Restoring, conflict};
use crate::{
    connection::Values,
    error::{Failure, StoreFailure},
    pets::rows::{self, Columns},
};

const INSERT: &str = "INSERT INTO pet (id, name, category_id, status) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
     ON CONFLICT DO NOTHING";
const FIND: &str = "SELECT id, name, category_id, status FROM pet WHERE id = ANY($1)";
const NEW_IDS: &str = "SELECT nextval('pet_id') FROM generate_series(1::bigint, $1)";

impl Restoring {
    pub(super) async fn restore_pets(
        &mut self,
        pets: &[Pet],
    ) -> Result<u64, Failure<RestoreError>> {
        self.lock().await?;
        let Columns { ids, names, categories, statuses } = Columns::of(pets);
        let values: Values<'_> = &[&ids, &names, &categories, &statuses];
        let added = self.execute(INSERT, values).await?;
        self.changed |= added > 0;
        if usize::try_from(added) != Ok(pets.len()) {
            self.compare(pets, &ids).await?;
        }
        Ok(added)
    }

    /// Whether each of `pets` is there as it was given.
    async fn compare(
        &self,
        pets: &[Pet],
        ids: &[Option<i64>],
    ) -> Result<(), Failure<RestoreError>> {
        let rows = self.rows(FIND, &[&ids]).await?;
        let mut there: HashMap<PetId, Pet> = HashMap::with_capacity(rows.len());
        for row in &rows {
            let pet = rows::pet(row, 0)?;
            there.insert(pet.id, pet);
        }
        match pets.iter().find(|pet| there.get(&pet.id) != Some(pet)) {
            Some(pet) => Err(conflict(format!("animal {}", pet.id))),
            None => Ok(()),
        }
    }

    pub(super) async fn restore_new_pets(
        &mut self,
        pets: &[NewPet],
    ) -> Result<(), Failure<RestoreError>> {
        let count = i64::try_from(pets.len()).unwrap_or(i64::MAX);
        let rows = self.rows(NEW_IDS, &[&count]).await?;
        let ids = rows.iter().map(|row| row.try_get::<_, i64>(0)).collect::<Result<Vec<_>, _>>();
        let mut ids = ids.map_err(StoreFailure::from)?;
        ids.sort_unstable();
        let mut columns = Columns::default();
        for pet in pets {
            columns.push(None, pet);
        }
        let Columns { names, categories, statuses, .. } = columns;
        self.execute(rows::INSERT, &[&ids, &names, &categories, &statuses]).await?;
        self.changed |= !pets.is_empty();
        Ok(())
    }
}
