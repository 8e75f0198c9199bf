//! A store as a whole: writing it.

use petstore_domain::{
    ApiKey, CategoryId, Fingerprint, KeyDigest, Pet, PetId, RestoreError, Timestamp,
};

use super::snapshots::{Content, furnish};
use crate::{
    Broken, Harness, Store,
    broken::{Checked, ensure, same},
    fresh::{Fresh, add, all, archive, before, still_works},
    samples::{self, MANY, at, attempt_by, key, rex},
};

/// Writes all of it into the store, in small batches, and commits if that is wished.
async fn restore(store: &Store, content: &Content, commit: bool) -> Checked {
    let mut restore = archive(store)?.restore().await?;
    for pets in content.pets.chunks(7) {
        let new = restore.pets(pets.to_vec()).await?;
        same("how many animals were not there before", &new, &(pets.len() as u64))?;
    }
    restore.keys(content.keys.clone()).await?;
    for attempts in content.attempts.chunks(3) {
        restore.idempotency_records(attempts.to_vec()).await?;
    }
    same("animals before the commit", &all(store).await?.len(), &0)?;
    same("keys before the commit", &store.keys.list().await?.len(), &0)?;
    if commit {
        restore.commit().await?;
    }
    Ok(())
}

/// What a furnished store of the same adapter holds; identifiers begin far above 1.
async fn content(harness: &dyn Harness) -> Result<Content, Broken> {
    let source = Fresh::of(harness).await?;
    let mut content = furnish(&source.store).await?;
    content.pets.iter_mut().for_each(|pet| pet.id.0 += 1_000_000);
    content.keys.iter_mut().for_each(|key| key.id.0 += 5000);
    content.attempts.iter_mut().for_each(|record| record.pet.0 += 1_000_000);
    Ok(content)
}

pub(super) async fn a_restore_brings_back_every_field(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let due = content(harness).await?;
    restore(&store, &due, true).await?;
    let seen = Content::of(&store).await?;
    same("the animals", &seen.pets, &due.pets)?;
    same("the keys", &seen.keys, &due.keys)?;
    same("the records", &seen.attempts, &due.attempts)?;
    same("the list", &all(&store).await?, &due.pets)?;
    let repeat = before(store.pets.add(rex(), Some(attempt_by(1, "b", &rex(), 8))).await?)?;
    let record = due.attempts.iter().find(|record| record.idempotency.key.as_str() == "b");
    same("the repeat of a restored record", &Some(repeat.id), &record.map(|record| record.pet))
}

pub(super) async fn identifiers_go_on_above_those_restored(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let there = content(harness).await?;
    restore(&store, &there, true).await?;
    let (pet, key) =
        (add(&store, rex()).await?.id, store.keys.add(key(99, "next", 50, None), MANY).await?.id);
    let (last_pet, last_key) = (there.pets.last(), there.keys.last());
    ensure!(last_pet.is_some_and(|last| last.id < pet), "{pet} comes after {last_pet:?}");
    ensure!(last_key.is_some_and(|last| last.id < key), "{key:?} comes after {last_key:?}");
    Ok(())
}

pub(super) async fn a_restore_left_without_commit_leaves_nothing(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let there = content(harness).await?;
    restore(&store, &there, false).await?;
    let left = Content::of(&store).await?;
    ensure!(left == Content::default(), "left behind: {} animals", left.pets.len());
    still_works(&store).await
}

pub(super) async fn a_restore_may_be_repeated(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let due = content(harness).await?;
    restore(&store, &due, true).await?;
    let mut again = archive(&store)?.restore().await?;
    same("how many animals are new", &again.pets(due.pets.clone()).await?, &0)?;
    again.keys(due.keys.clone()).await?;
    again.idempotency_records(due.attempts.clone()).await?;
    again.commit().await?;
    ensure!(Content::of(&store).await? == due, "the same content again has changed the store");
    Ok(())
}

/// Ends the promise unless the error names what is in the way.
fn conflict<T: std::fmt::Debug>(end: Result<T, RestoreError>, named: &str) -> Checked {
    match end {
        Err(RestoreError::Conflict { what }) => {
            ensure!(what.contains(named), "the conflict names '{what}', not {named}");
            Ok(())
        }
        other => Err(Broken::new(format!("{other:?} instead of a conflict about {named}"))),
    }
}

pub(super) async fn a_restore_names_what_is_in_its_way(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let due = content(harness).await?;
    restore(&store, &due, true).await?;
    let of = |pet: &Pet| Pet { category_id: CategoryId(pet.category_id.0 + 1), ..pet.clone() };
    let mut begun = archive(&store)?.restore().await?;
    let new = Pet { id: PetId(2_000_000), ..of(&due.pets[0]) };
    let end = begun.pets(vec![new, of(&due.pets[4])]).await;
    conflict(end, &due.pets[4].id.to_string())?;
    drop(begun);
    let mut begun = archive(&store)?.restore().await?;
    let other = ApiKey { digest: KeyDigest([9; 32]), ..due.keys[1].clone() };
    conflict(begun.keys(vec![other]).await, &due.keys[1].id.0.to_string())?;
    drop(begun);
    let mut begun = archive(&store)?.restore().await?;
    let mut other = due.attempts[0].clone();
    other.fingerprint = Fingerprint::new(&samples::pet("Another", 9, None));
    conflict(begun.idempotency_records(vec![other]).await, "")?;
    drop(begun);
    ensure!(Content::of(&store).await? == due, "a refused restore has changed the store");
    still_works(&store).await
}

pub(super) async fn new_pets_get_identifiers_in_their_order(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let first = add(&store, rex()).await?;
    let mut begun = archive(&store)?.restore().await?;
    begun.new_pets(samples::numbers(30).collect()).await?;
    begun.new_pets(vec![rex(), rex()]).await?;
    same("animals before the commit", &all(&store).await?.len(), &1)?;
    begun.commit().await?;
    let seen = all(&store).await?;
    let sent = [rex()].into_iter().chain(samples::numbers(30)).chain([rex(), rex()]);
    let due: Vec<Pet> = sent.zip(&seen).map(|(pet, seen)| pet.with_id(seen.id)).collect();
    same("the animals", &seen, &due)?;
    same("how many", &seen.len(), &33)?;
    same("the one before", &seen[0], &first)
}

pub(super) async fn a_key_that_is_there_already_is_joined(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let there = content(harness).await?;
    restore(&store, &there, true).await?;
    let mut due = there.keys.clone();
    let (used, revoked, back) = (
        ApiKey { last_used_at: Some(at(1 << 30)), ..due[0].clone() },
        ApiKey { revoked_at: Some(at(40)), ..due[1].clone() },
        // The gone one as it was before it was revoked.
        ApiKey { revoked_at: None, ..due[2].clone() },
    );
    let mut begun = archive(&store)?.restore().await?;
    begun.keys(vec![used.clone(), revoked.clone(), back.clone()]).await?;
    begun.commit().await?;
    for (key, came) in due.iter_mut().zip([used, revoked, back]) {
        let joined = key.merged_with(&came);
        *key = joined.ok_or_else(|| Broken::new("the kit's own samples are not one key"))?;
    }
    same("the keys", &store.keys.list().await?, &due)
}

pub(super) async fn a_newer_record_replaces_the_one_there(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let there = content(harness).await?;
    restore(&store, &there, true).await?;
    let mut newer = there.attempts[3].clone();
    newer.at = Timestamp(newer.at.0 + 1);
    newer.pet = there.pets[0].id;
    newer.fingerprint = Fingerprint::new(&samples::numbered(0));
    let mut begun = archive(&store)?.restore().await?;
    begun.idempotency_records(vec![newer.clone()]).await?;
    begun.commit().await?;
    let mut due = there.attempts;
    due[3] = newer;
    same("the records", &Content::of(&store).await?.attempts, &due)
}
