//! The mark of the catalogue's state, as one caller sees it.

use std::collections::HashSet;

use petstore_domain::PetId;

use crate::{
    Broken, Harness, Store,
    broken::{Checked, ensure, same},
    fresh::{Fresh, add, mark, stated},
    samples::{self, attempt, query, rex},
};

pub(super) async fn every_addition_changes_the_mark(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    for number in 0..20 {
        let before = mark(&store).await?;
        let pet = samples::numbered(number);
        let attempt = (number % 2 == 0).then(|| attempt(&format!("key-{number}"), &pet, 0));
        store.pets.add(pet, attempt).await?;
        ensure!(
            mark(&store).await? != before,
            "the mark is {before:?} before and after an addition"
        );
    }
    Ok(())
}

pub(super) async fn a_read_carries_the_mark_of_what_it_saw(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let empty = store.pets.list(query(20, None, None)).await?;
    same("the mark of the empty list", &stated(empty.version)?, &mark(&store).await?)?;
    for _ in 0..10 {
        let pet = add(&store, rex()).await?;
        let now = mark(&store).await?;
        let found = store.pets.find(pet.id).await?;
        let found = found.ok_or_else(|| Broken::new(format!("{pet:?} is not found")))?;
        same("the mark of finding", &stated(found.version)?, &now)?;
        for after in [None, Some(pet.id), Some(PetId(i64::MAX))] {
            let listed = store.pets.list(query(1, None, after)).await?;
            same(format!("the mark of listing after {after:?}"), &stated(listed.version)?, &now)?;
        }
    }
    Ok(())
}

/// Adds so many animals; the mark of each state must be a new one.
async fn new_marks(store: &Store, seen: &mut HashSet<u128>, additions: u32) -> Checked {
    for _ in 0..additions {
        add(store, rex()).await?;
        let now = mark(store).await?;
        ensure!(seen.insert(now.0), "the mark {now:?} came back for another state");
    }
    Ok(())
}

pub(super) async fn a_mark_never_comes_back(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::of(harness).await?;
    let mut seen = HashSet::from([mark(&fresh.store).await?.0]);
    new_marks(&fresh.store, &mut seen, 300).await?;
    // Where the data does not outlive the process, a new store is what a restart gives.
    let other = Fresh::of(harness).await?;
    add(&other.store, samples::pet("Bello", 2, None)).await?;
    let strange = mark(&other.store).await?;
    ensure!(!seen.contains(&strange.0), "{strange:?} is a mark of another store, too");
    Ok(())
}

pub(super) async fn no_mark_comes_back_after_reopening(harness: &dyn Harness) -> Checked {
    let mut fresh = Fresh::of(harness).await?;
    let mut seen = HashSet::new();
    for _ in 0..5 {
        new_marks(&fresh.store, &mut seen, 5).await?;
        fresh = fresh.reopened().await?;
        // Nothing was added: the mark may be the last one, but none before that.
        seen.insert(mark(&fresh.store).await?.0);
    }
    Ok(())
}
