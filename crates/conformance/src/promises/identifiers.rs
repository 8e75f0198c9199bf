//! Identifiers of animals.

use std::collections::HashSet;

use petstore_domain::PetId;
use tokio::task::JoinSet;

use crate::{
    broken::{Checked, ensure, same},
    fresh::{Fresh, add, all, join},
    harness::Store,
    samples,
};

/// Contract: the animal `id`, or `None` if there is none.
pub(super) async fn an_identifier_never_assigned_names_no_animal(store: Store) -> Checked {
    let mut last = 0;
    for _ in 0..3 {
        for id in [i64::MIN, -1, last + 1, last + 1000, i64::MAX].map(PetId) {
            let found = store.pets.find(id).await?.map(|found| found.value);
            same(format!("the animal {id}"), &found, &None)?;
        }
        last = add(&store, samples::rex()).await?.id.0;
    }
    Ok(())
}

/// Contract: identifiers grow in the order of acknowledgement, and none is assigned twice.
pub(super) async fn identifiers_grow_and_none_is_assigned_twice(fresh: Fresh) -> Checked {
    const TASKS: usize = 8;
    const EACH: usize = 25;
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let store = fresh.store.clone();
        tasks.spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..EACH {
                ids.push(add(&store, samples::rex()).await?.id);
            }
            Ok(ids)
        });
    }
    let mut seen = HashSet::new();
    for ids in join(tasks).await? {
        ensure!(ids.is_sorted_by(|one, next| one < next), "one caller was given {ids:?}");
        seen.extend(ids);
    }
    same("different identifiers", &seen.len(), &(TASKS * EACH))
}

/// Contract: identifiers grow in the order of acknowledgement, and none is assigned twice.
pub(super) async fn identifiers_go_on_growing_after_reopening(mut fresh: Fresh) -> Checked {
    let mut highest = None;
    for _ in 0..3 {
        for _ in 0..3 {
            let id = add(&fresh.store, samples::rex()).await?.id;
            ensure!(Some(id) > highest, "{id} was assigned after {highest:?}");
            highest = Some(id);
        }
        fresh = fresh.reopened().await?;
    }
    same("animals", &all(&fresh.store).await?.len(), &9)
}
