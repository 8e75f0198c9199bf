//! A store as a whole: writing batches.

use petstore_domain::{
    ApiKey, Batch, CategoryId, Corruption, Fingerprint, IdempotencyRecord, IdempotencyRequest,
    KeyDigest, KeyId, Pet, PetId, RestoreError, StoreError, Timestamp,
};
use tokio::task::JoinSet;

use super::{
    keys,
    snapshots::{Content, populate},
    writes::{Handles, nine},
};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, all, archive, join, replayed, still_works, write_batch},
    harness::Store,
    samples::{self, LIFETIME, at, key, rex},
};

/// So many animals a batch must be able to have if an adapter has no limit.
const LARGE: usize = 10_000;
/// So many rows of all kinds a batch must be able to have on every store: what the other promises write at once.
const SMALL: usize = 25;

/// Returns what a populated store of the same adapter holds, with identifiers far above 1.
pub(super) async fn content(fresh: &Fresh) -> Result<Content, Broken> {
    let source = fresh.another().await?;
    let mut content = populate(&source.store).await?;
    content.pets.iter_mut().for_each(|pet| pet.id.0 += 1_000_000);
    content.keys.iter_mut().for_each(|key| key.id.0 += 5000);
    content.records.iter_mut().for_each(|record| record.pet.0 += 1_000_000);
    Ok(content)
}

/// Returns a store that holds all of the content.
async fn filled(fresh: &Fresh) -> Result<Content, Broken> {
    let content = content(fresh).await?;
    let added = content.write(&fresh.store).await?;
    same("how many animals were added", &added, &(content.pets.len() as u64))?;
    Ok(content)
}

/// Contract: writes a batch: it is visible and durable, at once, when the call returns.
pub(super) async fn a_batch_brings_back_every_field(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let expected = content(&fresh).await?;
    let before = keys::loaded(&store).await?.revision;
    expected.write(&store).await?;
    ensure!(keys::loaded(&store).await?.revision != before, "the revision of the keys has stayed");
    let actual = Content::read(&store).await?;
    same("the animals", &actual.pets, &expected.pets)?;
    same("the keys", &actual.keys, &expected.keys)?;
    same("the records", &actual.records, &expected.records)?;
    same("the list", &all(&store).await?, &expected.pets)?;
    let record = expected.records[3];
    let repeat = samples::request_with(record.id, &rex(), 8);
    let repeat = store.pets.add(rex(), Some(repeat)).await?;
    same("the repeat of a record", &replayed(repeat)?.id, &record.pet)
}

/// Contract: afterwards the store assigns identifiers above every one of the batch, and above `assign_above`.
pub(super) async fn identifiers_go_on_above_those_of_a_batch(fresh: Fresh) -> Checked {
    let (store, there) = (fresh.store.clone(), filled(&fresh).await?);
    let (pet, key) =
        (add(&store, rex()).await?.id, keys::add(&store, key(99, "next", 50, None)).await?.id);
    let (last_pet, last_key) = (there.pets.last(), there.keys.last());
    ensure!(last_pet.is_some_and(|last| last.id < pet), "{pet} comes after {last_pet:?}");
    ensure!(last_key.is_some_and(|last| last.id < key), "{key:?} comes after {last_key:?}");
    for (above, lowest) in [(3_000_000, 3_000_000), (9, 3_000_000)] {
        let new_pets = samples::numbers(3).collect();
        let assign_above = Some(PetId(above));
        write_batch(&store, Batch { new_pets, assign_above, ..Batch::default() }).await?;
        let listed = all(&store).await?;
        let ids: Vec<_> = listed[listed.len() - 3..].iter().map(|pet| pet.id.0).collect();
        ensure!(ids[0] > lowest, "{ids:?} after {above} was asked for");
    }
    let fresh = fresh.another().await?;
    write_batch(&fresh.store, Batch { assign_above: Some(PetId(77)), ..Batch::default() }).await?;
    let first = add(&fresh.store, rex()).await?.id;
    ensure!(first > PetId(77), "{first} is assigned in an empty store, not above 77");
    Ok(())
}

/// Contract: an equal row that is there already is kept.
pub(super) async fn a_batch_may_be_written_again(fresh: Fresh) -> Checked {
    let (store, expected) = (fresh.store.clone(), filled(&fresh).await?);
    same("how many animals are new", &expected.write(&store).await?, &0)?;
    let unchanged = Content::read(&store).await? == expected;
    ensure!(unchanged, "the same content again has changed the store");
    Ok(())
}

/// Contract: how many rows one batch may have; new animals ascend in their order.
pub(super) async fn a_batch_takes_as_many_rows_as_the_store_says(store: Store) -> Checked {
    let count = archive(&store)?.max_batch().min(LARGE);
    ensure!(count >= SMALL, "a batch may have {count} rows, fewer than {SMALL}");
    let new_pets = samples::numbers(count).collect();
    let request = Some(IdempotencyRequest::of_batch([7; 32], at(0)));
    let added = write_batch(&store, Batch { new_pets, request, ..Batch::default() }).await?;
    same("how many animals were added", &added, &(count as u64))?;
    let listed = all(&store).await?;
    let same_order =
        listed.iter().zip(samples::numbers(count)).all(|(pet, new)| *pet == new.with_id(pet.id));
    ensure!(listed.len() == count && same_order, "the animals are others, or in another order");
    Ok(())
}

/// Returns a batch of nine animals, of which `digest` is the name.
fn nine_new(digest: u8, millis: i64) -> Batch {
    let request = Some(IdempotencyRequest::of_batch([digest; 32], at(millis)));
    Batch { new_pets: samples::numbers(9).collect(), request, ..Batch::default() }
}

/// Contract: if the batch of new animals is a repeat, none of them is added.
pub(super) async fn a_repeated_batch_adds_nothing(store: Store) -> Checked {
    for (digest, millis, added) in [
        (1, 0, 9),
        (2, 1, 9),
        (1, 2, 0),
        (1, LIFETIME - 1, 0),
        (1, LIFETIME, 9),
        (1, LIFETIME + 9, 0),
        (2, LIFETIME, 0),
    ] {
        let actual = write_batch(&store, nine_new(digest, millis)).await?;
        same(format!("how many of batch {digest} were added at {millis}"), &actual, &added)?;
    }
    let content = Content::read(&store).await?;
    same("the animals", &content.pets.len(), &27)?;
    let records: Vec<_> = content.records.iter().map(|record| record.pet).collect();
    let (first, again) = (content.pets[9].id, content.pets[18].id);
    let firsts = records == [first, again] || records == [again, first];
    ensure!(firsts, "the records are of {records:?}, and the batches begin at {first} and {again}");
    let mut other = nine_new(1, LIFETIME + 10);
    let changed = other.request.iter_mut();
    changed.for_each(|request| request.fingerprint = Fingerprint([9; 32]));
    let end = archive(&store)?.write(other).await;
    require_conflict("another batch under one id", &end)?;
    same("the animals", &all(&store).await?, &content.pets)
}

/// Contract: if the batch of new animals is a repeat, none of them is added.
pub(super) async fn of_equal_batches_at_once_one_is_added(fresh: Fresh) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let mut writers = JoinSet::new();
    for number in 0..6 {
        let store = handles.stores[number % handles.stores.len()].clone();
        writers.spawn(async move { write_batch(&store, nine_new(5, 0)).await });
    }
    let mut added = join(writers).await?;
    added.sort_unstable();
    same("how many animals each of them added", &added, &vec![0, 0, 0, 0, 0, 9])?;
    same("the animals", &all(&handles.stores[0]).await?.len(), &9)
}

/// Contract: a key that is there already becomes what both stores know of it.
pub(super) async fn a_key_that_is_there_already_is_merged(fresh: Fresh) -> Checked {
    let (store, there) = (fresh.store.clone(), filled(&fresh).await?);
    let mut expected = there.keys;
    let (used, revoked, back) = (
        ApiKey { last_used_at: Some(at(1 << 30)), ..expected[0].clone() },
        ApiKey { revoked_at: Some(at(40)), ..expected[1].clone() },
        // The gone one as it was before it was revoked.
        ApiKey { revoked_at: None, ..expected[2].clone() },
    );
    let keys = vec![used.clone(), revoked.clone(), back.clone()];
    write_batch(&store, Batch { keys, ..Batch::default() }).await?;
    for (key, came) in expected.iter_mut().zip([used, revoked, back]) {
        let joined = key.merged_with(&came);
        *key = joined.ok_or_else(|| Broken::new("the kit's own samples are not one key"))?;
    }
    same("the keys", &keys::listed(&store).await?, &expected)
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

/// Writes a batch that has good rows too. Returns how that ended.
async fn write_among_others(
    store: &Store,
    batch: Batch,
) -> Result<Result<(), RestoreError>, Broken> {
    let Batch { mut pets, mut keys, mut records, .. } = batch;
    pets.splice(0..0, nine(7_000_000));
    keys.insert(0, key(77, "among", 1, None).with_id(KeyId(70_000)));
    let record = IdempotencyRequest::of_batch([6; 32], at(0)).into_record(PetId(7_000_000));
    records.insert(0, record);
    let batch = Batch { pets, keys, records, ..nine_new(3, 0) };
    Ok(archive(store)?.write(batch).await.map(drop))
}

/// Ends the promise if the refused batches have changed the store.
async fn require_unchanged(fresh: &Fresh, content: &Content) -> Checked {
    let unchanged = Content::read(&fresh.store).await? == *content;
    ensure!(unchanged, "a refused batch has changed the store");
    still_works(&fresh.store).await
}

/// Contract: what is there and different is a conflict, which says what; nothing was written then.
pub(super) async fn a_batch_names_what_it_conflicts_with(fresh: Fresh) -> Checked {
    let content = filled(&fresh).await?;
    let changed = |pet: &Pet| Pet { category_id: CategoryId(pet.category_id.0 + 1), ..pet.clone() };
    let pets = vec![changed(&content.pets[4])];
    let end = write_among_others(&fresh.store, Batch { pets, ..Batch::default() }).await?;
    require_conflict(&format!("another animal {}", content.pets[4].id), &end)?;

    let key = &content.keys[1];
    for (about, key) in [
        (
            "a key with the identifier of another",
            ApiKey { digest: KeyDigest([9; 32]), ..key.clone() },
        ),
        ("a key with the digest of another", ApiKey { id: KeyId(key.id.0 + 1000), ..key.clone() }),
    ] {
        let batch = Batch { keys: vec![key], ..Batch::default() };
        let end = write_among_others(&fresh.store, batch).await?;
        require_conflict(about, &end)?;
    }
    require_unchanged(&fresh, &content).await
}

/// Returns the records of `content`, the fourth of them changed: as made `later` by so many milliseconds, for
/// another animal.
fn changed_record(content: &Content, later: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        at: Timestamp(content.records[3].at.0 + later),
        pet: content.pets[0].id,
        fingerprint: Fingerprint::new(&samples::numbered(0)),
        ..content.records[3]
    }
}

/// Contract: a record that is there already is replaced if it is older.
pub(super) async fn a_newer_record_replaces_the_one_there(fresh: Fresh) -> Checked {
    let content = filled(&fresh).await?;
    let newer = changed_record(&content, 1);
    write_batch(&fresh.store, Batch { records: vec![newer], ..Batch::default() }).await?;
    let mut expected = content.records;
    expected[3] = newer;
    same("the records", &Content::read(&fresh.store).await?.records, &expected)
}

/// Contract: a conflict if another record is there that is as old, or younger.
pub(super) async fn another_record_that_is_not_newer_is_a_conflict(fresh: Fresh) -> Checked {
    let content = filled(&fresh).await?;
    for (about, later) in [("of the same time", 0), ("that is older", -1)] {
        let other = changed_record(&content, later);
        let batch = Batch { records: vec![other], ..Batch::default() };
        let end = write_among_others(&fresh.store, batch).await?;
        require_conflict(&format!("another record {} {about}", other.id), &end)?;
    }
    require_unchanged(&fresh, &content).await
}

/// Contract: `Corrupt` if the animal of a record is missing.
pub(super) async fn a_record_without_its_animal_is_refused(fresh: Fresh) -> Checked {
    let content = filled(&fresh).await?;
    let stray = IdempotencyRecord { pet: PetId(8_000_000), ..changed_record(&content, 1) };
    let batch = Batch { records: vec![stray], ..Batch::default() };
    let end = write_among_others(&fresh.store, batch).await?;
    let named = matches!(
        &end,
        Err(RestoreError::Store(StoreError::Corrupt(Corruption { what, .. }))) if !what.is_empty()
    );
    ensure!(named, "a record of an animal that is not there: {end:?} instead of Corrupt");
    require_unchanged(&fresh, &content).await
}
