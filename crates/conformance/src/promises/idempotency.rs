//! Additions that happen once.

use std::{slice, sync::Arc};

use petstore_domain::{AddError, Added, NewPet};
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    Broken, Harness, Store,
    broken::{Checked, ensure, same},
    fresh::{Fresh, all, before, join, now},
    samples::{self, attempt, attempt_by, rex},
};

fn bello() -> NewPet {
    samples::pet("Bello", 1, None)
}

pub(super) async fn a_repeat_gets_the_first_animal_and_adds_nothing(
    harness: &dyn Harness,
) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let longest: String = ('!'..='~').cycle().take(255).collect();
    for key in ["k", "a'b\"c\\", &longest] {
        let first = now(store.pets.add(rex(), Some(attempt(key, &rex(), 0))).await?)?;
        for later in [0, 1, samples::LIFETIME - 1] {
            let again = store.pets.add(rex(), Some(attempt(key, &rex(), later))).await?;
            same("the repeat", &before(again)?, &first)?;
        }
    }
    same("animals", &all(&store).await?.len(), &3)
}

pub(super) async fn a_key_used_for_another_animal_is_refused(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let first = now(store.pets.add(rex(), Some(attempt("k", &rex(), 0))).await?)?;
    let others = [bello(), samples::pet("Rex", 2, rex().status), samples::pet("Rex", 1, None)];
    for other in others {
        let refusal = store.pets.add(other.clone(), Some(attempt("k", &other, 1))).await;
        let refused = matches!(refusal, Err(AddError::IdempotencyKeyReused));
        ensure!(refused, "{refusal:?} instead of IdempotencyKeyReused");
    }
    let again = store.pets.add(rex(), Some(attempt("k", &rex(), 2))).await?;
    same("the repeat after the refusals", &before(again)?, &first)?;
    same("the animals", &all(&store).await?, &vec![first])
}

pub(super) async fn the_same_key_of_another_caller_is_another_key(
    harness: &dyn Harness,
) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let attempts = [(1, "once"), (2, "once"), (1, "Once"), (1, "once."), (2, "ONCE")];
    for (caller, key) in attempts {
        let added = store.pets.add(rex(), Some(attempt_by(caller, key, &rex(), 0))).await?;
        now(added).map_err(|broken| broken.when(format!("caller {caller}, key {key}")))?;
    }
    same("animals", &all(&store).await?.len(), &attempts.len())
}

/// Adds `pets` at the same time, all under one key, each by one of the stores. What became of them.
async fn at_once(
    stores: &[Store],
    pets: Vec<NewPet>,
) -> Result<Vec<Result<Added, AddError>>, Broken> {
    let start = Arc::new(Barrier::new(pets.len()));
    let mut tasks = JoinSet::new();
    for (number, pet) in pets.into_iter().enumerate() {
        let (store, start) = (stores[number % stores.len()].clone(), Arc::clone(&start));
        tasks.spawn(async move {
            let attempt = attempt("once", &pet, 0);
            start.wait().await;
            Ok(store.pets.add(pet, Some(attempt)).await)
        });
    }
    join(tasks).await
}

/// Ends the promise unless 64 equal attempts have added one animal and all were given it.
async fn one_of_64(stores: &[Store]) -> Checked {
    let mut given = Vec::new();
    let mut new = 0;
    for added in at_once(stores, vec![rex(); 64]).await? {
        let added = added?;
        new += u32::from(matches!(added, Added::Created(_)));
        let (Added::Created(pet) | Added::Replayed(pet)) = added;
        given.push(pet);
    }
    let there = all(&stores[0]).await?;
    same("animals added by 64 equal attempts", &there.len(), &1)?;
    ensure!(given.iter().all(|pet| *pet == there[0]), "not all were given {:?}", there[0]);
    same("how many were told that they added it", &new, &1)
}

pub(super) async fn sixty_four_tasks_with_one_key_add_one_animal(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::of(harness).await?;
    one_of_64(slice::from_ref(&fresh.store)).await
}

pub(super) async fn two_handles_with_one_key_add_one_animal(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::of(harness).await?;
    one_of_64(&[fresh.store.clone(), fresh.second().await?]).await
}

pub(super) async fn of_different_animals_under_one_key_one_is_added(
    harness: &dyn Harness,
) -> Checked {
    let fresh = Fresh::of(harness).await?;
    let ends = at_once(slice::from_ref(&fresh.store), samples::numbers(16).collect()).await?;
    let added = ends.iter().filter(|end| matches!(end, Ok(Added::Created(_)))).count();
    let refused =
        ends.iter().filter(|end| matches!(end, Err(AddError::IdempotencyKeyReused))).count();
    same("added and refused", &(added, refused), &(1, 15))?;
    same("animals", &all(&fresh.store).await?.len(), &1)
}
