//! A store as a whole: restoring what the store holds already, or something else in its place.

use petstore_domain::{
    ApiKey, CategoryId, Corruption, Fingerprint, IdempotencyRecord, KeyDigest, KeyId, Pet, PetId,
    Restore, RestoreError, StoreError, Timestamp,
};

use super::{
    restores::{content, restore},
    snapshots::Content,
};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, archive, still_works},
    harness::Store,
    samples,
};

/// A store that holds all of the content.
async fn restored(fresh: Fresh) -> Result<(Fresh, Content), Broken> {
    let content = content(&fresh).await?;
    restore(&fresh.store, &content, true).await?;
    Ok((fresh, content))
}

async fn begin(store: &Store) -> Result<Box<dyn Restore>, Broken> {
    Ok(archive(store)?.restore().await?)
}

/// Ends the promise unless it is a conflict that says in some words what is in the way.
fn require_conflict<T: std::fmt::Debug>(about: &str, end: &Result<T, RestoreError>) -> Checked {
    let named = match end {
        Err(RestoreError::OtherPet(_)) => true,
        Err(RestoreError::Conflict { what }) => !what.is_empty(),
        Ok(_) | Err(RestoreError::Store(_)) => false,
    };
    ensure!(named, "{about}: {end:?} instead of a conflict that names it");
    Ok(())
}

/// Ends the promise if the refused restores have changed the store.
async fn require_unchanged(fresh: &Fresh, content: &Content) -> Checked {
    let unchanged = Content::read(&fresh.store).await? == *content;
    ensure!(unchanged, "a refused restore has changed the store");
    still_works(&fresh.store).await
}

pub(super) async fn a_restore_names_what_it_conflicts_with(fresh: Fresh) -> Checked {
    let (fresh, content) = restored(fresh).await?;
    let changed = |pet: &Pet| Pet { category_id: CategoryId(pet.category_id.0 + 1), ..pet.clone() };
    let new = Pet { id: PetId(2_000_000), ..changed(&content.pets[0]) };
    let end = begin(&fresh.store).await?.pets(vec![new, changed(&content.pets[4])]).await;
    require_conflict(&format!("another animal {}", content.pets[4].id), &end)?;

    let key = &content.keys[1];
    for (about, key) in [
        (
            "a key with the identifier of another",
            ApiKey { digest: KeyDigest([9; 32]), ..key.clone() },
        ),
        ("a key with the digest of another", ApiKey { id: KeyId(key.id.0 + 1000), ..key.clone() }),
    ] {
        let end = begin(&fresh.store).await?.keys(vec![key]).await;
        require_conflict(about, &end)?;
    }
    require_unchanged(&fresh, &content).await
}

/// The records of `content`, the fourth of them changed: as made `later` by so many milliseconds,
/// for another animal.
fn changed_record(content: &Content, later: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        at: Timestamp(content.records[3].at.0 + later),
        pet: content.pets[0].id,
        fingerprint: Fingerprint::new(&samples::numbered(0)),
        ..content.records[3]
    }
}

pub(super) async fn a_newer_record_replaces_the_one_there(fresh: Fresh) -> Checked {
    let (fresh, content) = restored(fresh).await?;
    let newer = changed_record(&content, 1);
    let mut begun = begin(&fresh.store).await?;
    begun.idempotency_records(vec![newer]).await?;
    begun.commit().await?;
    let mut expected = content.records;
    expected[3] = newer;
    same("the records", &Content::read(&fresh.store).await?.records, &expected)
}

pub(super) async fn another_record_that_is_not_newer_is_a_conflict(fresh: Fresh) -> Checked {
    let (fresh, content) = restored(fresh).await?;
    for (about, later) in [("of the same time", 0), ("that is older", -1)] {
        let other = changed_record(&content, later);
        let about = format!("another record {} {about}", other.id);
        let end = begin(&fresh.store).await?.idempotency_records(vec![other]).await;
        require_conflict(&about, &end)?;
    }
    require_unchanged(&fresh, &content).await
}

pub(super) async fn a_record_without_its_animal_is_refused(fresh: Fresh) -> Checked {
    let (fresh, content) = restored(fresh).await?;
    let stray = IdempotencyRecord { pet: PetId(7_000_000), ..changed_record(&content, 1) };
    let end = begin(&fresh.store).await?.idempotency_records(vec![stray]).await;
    let named = matches!(
        &end,
        Err(RestoreError::Store(StoreError::Corrupt(Corruption { what, .. }))) if !what.is_empty()
    );
    ensure!(named, "a record of an animal that is not there: {end:?} instead of Corrupt");
    require_unchanged(&fresh, &content).await
}
