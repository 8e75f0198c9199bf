//! Additions that happen once.

use std::{slice, sync::Arc};

use petstore_domain::{AddError, Added, IdempotencyId, NewPet};
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, all, created, join, replayed},
    harness::Store,
    samples::{self, request, request_with, rex},
};

fn bello() -> NewPet {
    samples::pet("Bello", 1, None)
}

/// Contract: with the same fingerprint the answer is `Added::Replayed`, and nothing is added.
pub(super) async fn a_repeat_gets_the_first_animal_and_adds_nothing(store: Store) -> Checked {
    for key in ["a", "b", "c"] {
        let first = created(store.pets.add(rex(), Some(request(key, &rex(), 0))).await?)?;
        for later in [0, 1, samples::LIFETIME - 1] {
            let again = store.pets.add(rex(), Some(request(key, &rex(), later))).await?;
            same("the repeat", &replayed(again)?, &first)?;
        }
    }
    same("animals", &all(&store).await?.len(), &3)
}

/// Contract: `IdempotencyKeyReused` if such a record has another fingerprint.
pub(super) async fn a_key_used_for_another_animal_is_refused(store: Store) -> Checked {
    let first = created(store.pets.add(rex(), Some(request("k", &rex(), 0))).await?)?;
    let others = [bello(), samples::pet("Rex", 2, rex().status), samples::pet("Rex", 1, None)];
    for other in others {
        let refusal = store.pets.add(other.clone(), Some(request("k", &other, 1))).await;
        let refused = matches!(refusal, Err(AddError::IdempotencyKeyReused));
        ensure!(refused, "{refusal:?} instead of IdempotencyKeyReused");
    }
    let again = store.pets.add(rex(), Some(request("k", &rex(), 2))).await?;
    same("the repeat after the refusals", &replayed(again)?, &first)?;
    same("the animals", &all(&store).await?, &vec![first])
}

/// Contract: the record that is stored under the request's id.
pub(super) async fn ids_that_differ_in_any_bit_are_two_records(store: Store) -> Checked {
    // Zeros would end a text. Of a letter, one bit is its case.
    let bases = [[0; 16], *b"An id of letters"].map(u128::from_be_bytes);
    let near = |base| (0..128).map(move |bit| base ^ 1_u128 << bit).chain([base]);
    for id in bases.into_iter().flat_map(near) {
        let id = IdempotencyId(id.to_be_bytes());
        let added = store.pets.add(rex(), Some(request_with(id, &rex(), 0))).await?;
        created(added).map_err(|broken| broken.context(format!("the id {id}")))?;
    }
    Ok(())
}

/// Adds `pets` at the same time, all under one key, each by one of the stores. Their results.
async fn concurrently(
    stores: &[Store],
    pets: Vec<NewPet>,
) -> Result<Vec<Result<Added, AddError>>, Broken> {
    let start = Arc::new(Barrier::new(pets.len()));
    let mut tasks = JoinSet::new();
    for (number, pet) in pets.into_iter().enumerate() {
        let (store, start) = (stores[number % stores.len()].clone(), Arc::clone(&start));
        tasks.spawn(async move {
            let request = request("once", &pet, 0);
            start.wait().await;
            Ok(store.pets.add(pet, Some(request)).await)
        });
    }
    join(tasks).await
}

/// Ends the promise unless 64 equal requests have added one animal and all were given it.
async fn one_of_64(stores: &[Store]) -> Checked {
    let mut given = Vec::new();
    let mut new = 0;
    for added in concurrently(stores, vec![rex(); 64]).await? {
        let added = added?;
        new += u32::from(matches!(added, Added::Created(_)));
        let (Added::Created(pet) | Added::Replayed(pet)) = added;
        given.push(pet);
    }
    let there = all(&stores[0]).await?;
    same("animals added by 64 equal requests", &there.len(), &1)?;
    ensure!(given.iter().all(|pet| *pet == there[0]), "not all were given {:?}", there[0]);
    same("how many were answered Created", &new, &1)
}

/// Contract: requests that run at the same time add one animal between them.
pub(super) async fn sixty_four_tasks_with_one_key_add_one_animal(store: Store) -> Checked {
    one_of_64(slice::from_ref(&store)).await
}

/// Contract: requests that run at the same time add one animal between them.
pub(super) async fn two_handles_with_one_key_add_one_animal(fresh: Fresh) -> Checked {
    one_of_64(&[fresh.store.clone(), fresh.second().await?]).await
}

/// Contract: requests that run at the same time add one animal between them.
pub(super) async fn of_different_animals_under_one_key_one_is_added(store: Store) -> Checked {
    let ends = concurrently(slice::from_ref(&store), samples::numbers(16).collect()).await?;
    let added = ends.iter().filter(|end| matches!(end, Ok(Added::Created(_)))).count();
    let refused =
        ends.iter().filter(|end| matches!(end, Err(AddError::IdempotencyKeyReused))).count();
    same("added and refused", &(added, refused), &(1, 15))?;
    same("animals", &all(&store).await?.len(), &1)
}
