//! A store as a whole: writing it.

use petstore_domain::ApiKey;

use super::{
    keys,
    snapshots::{Content, populate},
};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, all, archive, replayed, still_works},
    harness::Store,
    samples::{at, key, request_with, rex},
};

/// Writes the content into the store, which is empty, in small batches, and commits if `commit`.
pub(super) async fn restore(store: &Store, content: &Content, commit: bool) -> Checked {
    let mut restore = archive(store)?.restore().await?;
    for pets in content.pets.chunks(7) {
        let new = restore.pets(pets.to_vec()).await?;
        same("how many animals were not there before", &new, &(pets.len() as u64))?;
    }
    restore.keys(content.keys.clone()).await?;
    for records in content.records.chunks(3) {
        restore.idempotency_records(records.to_vec()).await?;
    }
    same("animals before the commit", &all(store).await?.len(), &0)?;
    same("keys before the commit", &keys::listed(store).await?.len(), &0)?;
    if commit {
        restore.commit().await?;
    }
    Ok(())
}

/// What a populated store of the same adapter holds, with identifiers far above 1.
pub(super) async fn content(fresh: &Fresh) -> Result<Content, Broken> {
    let source = fresh.another().await?;
    let mut content = populate(&source.store).await?;
    content.pets.iter_mut().for_each(|pet| pet.id.0 += 1_000_000);
    content.keys.iter_mut().for_each(|key| key.id.0 += 5000);
    content.records.iter_mut().for_each(|record| record.pet.0 += 1_000_000);
    Ok(content)
}

pub(super) async fn a_restore_brings_back_every_field(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let expected = content(&fresh).await?;
    let before = keys::loaded(&store).await?.revision;
    restore(&store, &expected, true).await?;
    ensure!(keys::loaded(&store).await?.revision != before, "the revision of the keys has stayed");
    let actual = Content::read(&store).await?;
    same("the animals", &actual.pets, &expected.pets)?;
    same("the keys", &actual.keys, &expected.keys)?;
    same("the records", &actual.records, &expected.records)?;
    same("the list", &all(&store).await?, &expected.pets)?;
    let record = expected.records[3];
    let repeat = store.pets.add(rex(), Some(request_with(record.id, &rex(), 8))).await?;
    same("the repeat of a restored record", &replayed(repeat)?.id, &record.pet)
}

pub(super) async fn identifiers_go_on_above_those_restored(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let there = content(&fresh).await?;
    restore(&store, &there, true).await?;
    let (pet, key) =
        (add(&store, rex()).await?.id, keys::add(&store, key(99, "next", 50, None)).await?.id);
    let (last_pet, last_key) = (there.pets.last(), there.keys.last());
    ensure!(last_pet.is_some_and(|last| last.id < pet), "{pet} comes after {last_pet:?}");
    ensure!(last_key.is_some_and(|last| last.id < key), "{key:?} comes after {last_key:?}");
    Ok(())
}

pub(super) async fn a_restore_left_without_commit_leaves_nothing(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let there = content(&fresh).await?;
    restore(&store, &there, false).await?;
    let left = Content::read(&store).await?;
    ensure!(left == Content::default(), "left behind: {} animals", left.pets.len());
    still_works(&store).await
}

pub(super) async fn a_restore_may_be_repeated(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let expected = content(&fresh).await?;
    restore(&store, &expected, true).await?;
    let mut again = archive(&store)?.restore().await?;
    same("how many animals are new", &again.pets(expected.pets.clone()).await?, &0)?;
    again.keys(expected.keys.clone()).await?;
    again.idempotency_records(expected.records.clone()).await?;
    again.commit().await?;
    ensure!(
        Content::read(&store).await? == expected,
        "the same content again has changed the store"
    );
    Ok(())
}

pub(super) async fn a_key_that_is_there_already_is_merged(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let there = content(&fresh).await?;
    restore(&store, &there, true).await?;
    let mut expected = there.keys.clone();
    let (used, revoked, back) = (
        ApiKey { last_used_at: Some(at(1 << 30)), ..expected[0].clone() },
        ApiKey { revoked_at: Some(at(40)), ..expected[1].clone() },
        // The gone one as it was before it was revoked.
        ApiKey { revoked_at: None, ..expected[2].clone() },
    );
    let mut begun = archive(&store)?.restore().await?;
    begun.keys(vec![used.clone(), revoked.clone(), back.clone()]).await?;
    begun.commit().await?;
    for (key, came) in expected.iter_mut().zip([used, revoked, back]) {
        let joined = key.merged_with(&came);
        *key = joined.ok_or_else(|| Broken::new("the kit's own samples are not one key"))?;
    }
    same("the keys", &keys::listed(&store).await?, &expected)
}
