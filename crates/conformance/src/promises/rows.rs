//! Writes of an archive: rows, and many new animals.

use petstore_domain::{
    ApiKey, ArchiveError, CategoryId, Fingerprint, IdempotencyRecord, IdempotencyRequest,
    KeyDigest, KeyId, Pet, PetId, Rows, Timestamp, WriterRole,
};

use crate::{
    calls::{all, all_keys, archive, join, load, replayed, rows_of, start, write_rows},
    content::{foreign, nine, read_all, require_held, sort, write_all},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, ensure_matches},
    fixture::Fixture,
    harness::Store,
    samples::{self, LIFETIME, at, key, pet, rex},
};

/// The number of animals that one call must accept, unless the adapter's `max_batch` is lower.
const LARGE: usize = 10_000;
/// The number of rows that one call must accept on every store.
const SMALL: usize = 25;

/// Writes the content of another store to this store.
async fn fill(fixture: &Fixture) -> PromiseResult<Rows> {
    let mut content = foreign(fixture).await?;
    content.pets.insert(0, rex().with_id(PetId(-7)));
    let added = write_all(fixture.store(), WriterRole::Service, &content).await?;
    ensure_eq("how many animals were added", &added, &(content.pets.len() as u64))?;
    Ok(content)
}

/// Contract: rows are durable and visible when the call returns. A row that the store holds already stays unchanged,
/// so equal rows may be written again.
pub(super) async fn rows_come_back_and_may_be_written_again(fixture: Fixture) -> PromiseResult {
    let before = load(fixture.store()).await?.revision;
    let expected = fill(&fixture).await?;
    let after = load(fixture.store()).await?.revision;
    ensure!(after != before, "the revision of the keys has stayed");
    let fixture = fixture.reopened_if_supported().await?;
    require_held(&fixture, &expected).await?;
    for store in &fixture.handles {
        let again = write_all(store, WriterRole::Service, &expected).await?;
        ensure_eq("how many animals are new the second time", &again, &0)?;
    }
    let record = expected.records[3];
    let repeat = IdempotencyRequest::new(record.id, &rex(), at(8));
    let repeat = fixture.store().pets.add(rex(), Some(repeat)).await?;
    ensure_eq("the repeat of a record", &replayed(repeat)?.id, &record.pet)
}

/// Contract: one call accepts `max_batch` animals. Their identifiers ascend in the order of the animals.
pub(super) async fn many_animals_are_added_in_their_order(store: Store) -> PromiseResult {
    let count = archive(&store)?.max_batch().min(LARGE);
    ensure!(count >= SMALL, "one call takes {count} rows, fewer than {SMALL}");
    let request = Some(IdempotencyRequest::of_batch([7; 32], at(0)));
    let added = archive(&store)?.add_new(samples::numbers(count).collect(), request).await?;
    ensure_eq("how many animals were added", &added, &(count as u64))?;
    let listed = all(&store).await?;
    let expected = listed.iter().zip(samples::numbers(count)).map(|(pet, new)| new.with_id(pet.id));
    ensure_eq_lists("the animals", &listed, &expected.collect::<Vec<_>>())?;
    ensure_eq("how many are listed", &listed.len(), &count)
}

/// Adds nine animals under the request `digest`. Returns the number of added animals.
async fn add_nine(store: &Store, digest: u8, millis: i64) -> PromiseResult<u64> {
    let request = Some(IdempotencyRequest::of_batch([digest; 32], at(millis)));
    Ok(archive(store)?.add_new(samples::numbers(9).collect(), request).await?)
}

/// Contract: a repeated request adds none of its animals, also if equal requests run at the same time. The record of
/// the request names the first animal.
pub(super) async fn a_repeated_batch_adds_nothing(fixture: Fixture) -> PromiseResult {
    let writers = start(&fixture, 6, |_, store| async move { add_nine(&store, 1, 0).await });
    join(writers).await?;
    let store = fixture.store();
    for (digest, millis, added) in [
        (2, 1, 9),
        (1, 2, 0),
        (1, LIFETIME - 1, 0),
        (1, LIFETIME, 9),
        (1, LIFETIME + 9, 0),
        (2, LIFETIME, 0),
    ] {
        let actual = add_nine(store, digest, millis).await?;
        ensure_eq(format!("how many of batch {digest} were added at {millis}"), &actual, &added)?;
    }
    let content = read_all(store).await?;
    let records: Vec<_> = content.records.iter().map(|record| record.pet).collect();
    // The third batch has replaced the record of the first batch.
    let expected: Vec<_> = content.pets.chunks(9).skip(1).map(|batch| batch[0].id).collect();
    ensure_eq_lists("the animals of the records", &records, &expected)?;
    let other = IdempotencyRequest {
        fingerprint: Fingerprint([9; 32]),
        ..IdempotencyRequest::of_batch([1; 32], at(LIFETIME + 10))
    };
    let end = archive(store)?.add_new(vec![rex()], Some(other)).await;
    let about = "another batch under one id";
    ensure_matches!(about, end, Err(ArchiveError::Conflict { what }) if !what.is_empty());
    ensure_eq_lists("the animals", &all(store).await?, &content.pets)
}

/// Contract: a key that the store holds already is merged: the earlier end and the later use are kept.
pub(super) async fn a_key_that_is_there_already_is_merged(fixture: Fixture) -> PromiseResult {
    let mut expected = fill(&fixture).await?.keys;
    let (used, revoked, back) = (
        ApiKey { last_used_at: Some(at(1 << 30)), ..expected[0].clone() },
        ApiKey { revoked_at: Some(at(40)), ..expected[1].clone() },
        // The third key as it was before its revocation.
        ApiKey { revoked_at: None, ..expected[2].clone() },
    );
    let keys = vec![used.clone(), revoked.clone(), back];
    write_rows(fixture.store(), Rows { keys, ..Rows::default() }).await?;
    (expected[0], expected[1]) = (used, revoked);
    ensure_eq_lists("the keys", &all_keys(fixture.store()).await?, &expected)
}

/// Contract: a row conflicts with a different row of the store or of the call that has its identifier or its digest.
/// The error names the row, and none of the rows is written. Only a stored record that is older is replaced.
pub(super) async fn rows_in_the_place_of_others_are_refused(fixture: Fixture) -> PromiseResult {
    let (store, mut content) = (fixture.store(), fill(&fixture).await?);
    let new = nine(2_000_000);
    for taken in [&content.pets[6], &new[7]] {
        let renamed = pet("Another", taken.category_id.0, taken.status).with_id(taken.id);
        let other_category = Pet { category_id: CategoryId(-1), ..taken.clone() };
        let other_status = Pet { status: None, ..taken.clone() };
        for other in [renamed, other_category, other_status] {
            let pets = [&new, std::slice::from_ref(&other)].concat();
            let end = write_among_others(store, rows_of(pets)).await?;
            let what = format!("another animal {}", taken.id);
            ensure_matches!(what, end, Err(ArchiveError::OtherPet(id)) if *id == taken.id);
        }
    }
    let [mut same_id, mut same_digest] = [(); 2].map(|()| content.keys[1].clone());
    (same_id.digest, same_digest.id) = (KeyDigest([9; 32]), KeyId(same_id.id.0 + 1000));
    for key in [same_id, same_digest] {
        let about = format!("{key:?} in the place of another key");
        let rows = Rows { keys: vec![key], ..Rows::default() };
        let end = write_among_others(store, rows).await?;
        ensure_matches!(about, end, Err(ArchiveError::Conflict { what }) if !what.is_empty());
    }
    for (about, later) in [("of its time", [0, 0]), ("older", [-1, -1]), ("in the call", [2, 1])] {
        let records = later.map(|later| changed_record(&content, later)).to_vec();
        let rows = Rows { records, ..Rows::default() };
        let end = write_among_others(store, rows).await?;
        let about = format!("another record {about}");
        ensure_matches!(about, end, Err(ArchiveError::Conflict { what }) if !what.is_empty());
    }
    let newer = changed_record(&content, 1);
    write_rows(store, Rows { records: vec![newer], ..Rows::default() }).await?;
    content.records[3] = newer;
    sort(&mut content);
    require_held(&fixture, &content).await
}

/// Returns the fourth record of `content` with another animal, another fingerprint, and a time `later` milliseconds
/// later.
fn changed_record(content: &Rows, later: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        at: Timestamp(content.records[3].at.0 + later),
        pet: content.pets[0].id,
        fingerprint: Fingerprint::new(&samples::numbered(0)),
        ..content.records[3]
    }
}

/// Writes rows after valid rows of each kind. Returns the outcome.
async fn write_among_others(
    store: &Store,
    mut rows: Rows,
) -> PromiseResult<Result<u64, ArchiveError>> {
    rows.pets.insert(0, rex().with_id(PetId(7_000_000)));
    rows.keys.insert(0, key(77, "among", 1, None).with_id(KeyId(70_000)));
    let record = IdempotencyRequest::of_batch([6; 32], at(0)).into_record(PetId(7_000_000));
    rows.records.insert(0, record);
    Ok(archive(store)?.write_rows(WriterRole::Service, rows).await)
}
