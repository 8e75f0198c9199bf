//! Pages and walks.

use std::collections::BTreeSet;

use petstore_domain::{Pet, PetId, PetStatus};
use tokio::task::JoinSet;

use crate::{
    broken::{Checked, ensure, same},
    fresh::{Fresh, add, add_many, join, page, walk},
    harness::Store,
    samples::{self, query},
};

/// Two full pages of the largest size, and five.
const ANIMALS: usize = 205;

fn ids<'a>(pets: impl IntoIterator<Item = &'a Pet>) -> Vec<i64> {
    pets.into_iter().map(|pet| pet.id.0).collect()
}

/// Contract: the animals that match, ascending by identifier, at most `query.limit`.
pub(super) async fn a_page_has_its_limit_in_ascending_order(store: Store) -> Checked {
    let pets = add_many(&store, ANIMALS).await?;
    for limit in [1, 2, 20, 99, 100] {
        for start in [0, 1, 100, ANIMALS - usize::from(limit), ANIMALS - 1, ANIMALS] {
            let after = start.checked_sub(1).map(|index| pets[index].id);
            let actual = page(&store, query(limit, None, after)).await?.pets;
            let expected = pets[start..].iter().take(limit.into());
            same(format!("limit {limit} after {after:?}"), &ids(&actual), &ids(expected))?;
        }
    }
    Ok(())
}

/// Contract: and whether at least one more matches behind them.
pub(super) async fn more_is_true_exactly_if_another_follows(store: Store) -> Checked {
    let pets = add_many(&store, ANIMALS).await?;
    for limit in [1, 20, 100] {
        let full = usize::from(limit);
        for start in [1, ANIMALS - full - 1, ANIMALS - full, ANIMALS - full + 1, ANIMALS] {
            let after = Some(pets[start - 1].id);
            let more = page(&store, query(limit, None, after)).await?.more;
            same(format!("more, limit {limit} after {after:?}"), &more, &(start + full < ANIMALS))?;
        }
    }
    // The last four are one of each status, and of none: none of their status follows.
    for pet in &pets[ANIMALS - 4..] {
        if pet.status.is_some() {
            let before = Some(PetId(pet.id.0 - 1));
            let more = page(&store, query(1, pet.status, before)).await?.more;
            same(format!("more of status {:?} behind the last", pet.status), &more, &false)?;
        }
    }
    Ok(())
}

/// Contract: the animals whose identifier is greater than `query.after`.
pub(super) async fn a_page_past_the_end_is_empty(store: Store) -> Checked {
    let last = add_many(&store, 5).await?.last().map_or(PetId(0), |pet| pet.id);
    for after in [last, PetId(last.0 + 1), PetId(i64::MAX)] {
        for status in samples::STATUSES {
            let actual = page(&store, query(20, status, Some(after))).await?;
            let expected = petstore_domain::PetPage::default();
            same(format!("the page after {after}"), &actual, &expected)?;
        }
    }
    let whole = page(&store, query(20, None, Some(PetId(i64::MIN)))).await?;
    same("animals after the least identifier there is", &whole.pets.len(), &5)
}

/// Contract: a walk yields every animal that existed when it began exactly once.
pub(super) async fn a_walk_meets_what_was_there_exactly_once(fresh: Fresh) -> Checked {
    const WRITERS: usize = 4;
    let there = add_many(&fresh.store, 60).await?;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let store = fresh.store.clone();
        writers.spawn(async move {
            for pet in samples::numbers(50) {
                add(&store, pet).await?;
            }
            Ok(())
        });
    }
    for limit in [1, 7, 100] {
        let walked = walk(&fresh.store, limit, None).await?;
        let old = walked.iter().filter(|pet| pet.id <= there[59].id);
        same(
            format!("a walk by {limit}, as far as the beginning reached"),
            &ids(old),
            &ids(&there),
        )?;
    }
    join(writers).await?;
    let pending = walk(&fresh.store, 3, Some(PetStatus::Pending)).await?;
    let wrong = pending.iter().find(|pet| pet.status != Some(PetStatus::Pending));
    ensure!(wrong.is_none(), "a walk through the pending ones met {wrong:?}");
    Ok(())
}

/// Contract: a walk yields every animal that existed when it began exactly once.
pub(super) async fn ten_thousand_animals_walk_out_as_they_went_in(fresh: Fresh) -> Checked {
    const TASKS: usize = 100;
    const EACH: usize = 100;
    let mut writers = JoinSet::new();
    for task in 0..TASKS {
        let store = fresh.store.clone();
        writers.spawn(async move {
            let mut added = Vec::with_capacity(EACH);
            for number in task * EACH..(task + 1) * EACH {
                let pet = samples::numbered(number);
                let id = add(&store, pet.clone()).await?.id;
                added.push(pet.with_id(id));
            }
            Ok(added)
        });
    }
    let mut went_in: Vec<Pet> = join(writers).await?.into_iter().flatten().collect();
    went_in.sort_by_key(|pet| pet.id);
    let came_out = walk(&fresh.store, 100, None).await?;
    let (sent, actual): (BTreeSet<i64>, BTreeSet<i64>) =
        (ids(&went_in).into_iter().collect(), ids(&came_out).into_iter().collect());
    let differing: Vec<&i64> = sent.symmetric_difference(&actual).take(10).collect();
    ensure!(differing.is_empty(), "only in, or only out: {differing:?}");
    let changed = went_in.iter().zip(&came_out).find(|(sent, actual)| sent != actual);
    ensure!(changed.is_none(), "not as it went in: {changed:?}");
    same("how many came out", &came_out.len(), &(TASKS * EACH))
}
