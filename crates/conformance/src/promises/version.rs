//! The version of the catalogue, as one caller sees it.

use std::collections::HashSet;

use petstore_domain::{CatalogueVersion, PetId};

use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, required, version},
    harness::Store,
    samples::{self, query, rex},
};

/// How often the reads are tried again when the version has changed meanwhile. No write does that here, but a
/// store that is being moved takes another version now and then.
const MAX_TRIES: u32 = 20;

/// Contract: two reads that carry the same version saw the same state.
pub(super) async fn a_read_carries_the_version_of_what_it_saw(store: Store) -> Checked {
    reads_carry_the_version(&store, None).await?;
    for _ in 0..10 {
        let pet = add(&store, rex()).await?;
        reads_carry_the_version(&store, Some(pet.id)).await?;
    }
    Ok(())
}

async fn reads_carry_the_version(store: &Store, pet: Option<PetId>) -> Checked {
    let mut tries = 0;
    loop {
        let now = version(store).await?;
        let outcome = reads_carry(store, pet, now).await;
        if outcome.is_ok() || tries == MAX_TRIES || version(store).await? == now {
            return outcome;
        }
        tries += 1;
    }
}

async fn reads_carry(store: &Store, pet: Option<PetId>, now: CatalogueVersion) -> Checked {
    if let Some(id) = pet {
        let found = store.pets.find(id).await?;
        let found = found.ok_or_else(|| Broken::new(format!("{id:?} is not found")))?;
        same("the version of finding", &required(found.version)?, &now)?;
    }
    for after in [None, pet, Some(PetId(i64::MAX))] {
        let listed = store.pets.list(query(1, None, after)).await?;
        let what = format!("the version of listing after {after:?}");
        same(what, &required(listed.version)?, &now)?;
    }
    Ok(())
}

/// Adds animals. The version of each state must be a new one.
async fn new_versions(store: &Store, seen: &mut HashSet<u128>, additions: u32) -> Checked {
    for _ in 0..additions {
        add(store, rex()).await?;
        let now = version(store).await?;
        ensure!(seen.insert(now.0), "the version {now:?} came back for another state");
    }
    Ok(())
}

/// Contract: a version never comes back for another state.
pub(super) async fn a_version_never_comes_back(fresh: Fresh) -> Checked {
    let mut seen = HashSet::from([version(&fresh.store).await?.0]);
    new_versions(&fresh.store, &mut seen, 300).await?;
    // Where the data does not outlive the process, a new store is what a restart gives.
    let other = fresh.another().await?;
    add(&other.store, samples::pet("Bello", 2, None)).await?;
    let foreign = version(&other.store).await?;
    ensure!(!seen.contains(&foreign.0), "{foreign:?} is a version of another store, too");
    Ok(())
}

/// Contract: a version never comes back for another state, restarts included.
pub(super) async fn no_version_comes_back_after_reopening(mut fresh: Fresh) -> Checked {
    let mut seen = HashSet::new();
    for _ in 0..5 {
        new_versions(&fresh.store, &mut seen, 5).await?;
        fresh = fresh.reopened().await?;
        // Nothing was added: the version may be the last one, but none before that.
        seen.insert(version(&fresh.store).await?.0);
    }
    Ok(())
}
