//! Snapshots of an archive.

use std::time::Duration;

use petstore_domain::{
    IdempotencyId, IdempotencyRecord, PetId, Rows, Snapshot, StoreCounts, WriterRole, revoke_keys,
    roll_key,
};

use super::keys;
use crate::{
    calls::{add, add_many, all, archive, created, purge, rows_of, write_rows},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, tried},
    fixture::Fixture,
    harness::Store,
    samples::{self, NO_LIMIT, at, by_name, key, read_only_key, request, request_with, rex},
};

/// Reads the rows of a store, in their order. The result has no highest identifiers.
pub(super) async fn read_all(store: &Store) -> PromiseResult<Rows> {
    read_batches(&mut *archive(store)?.snapshot().await?, 100).await
}

/// Reads the rows of a snapshot in batches of `limit` rows. The rows must ascend.
async fn read_batches(snapshot: &mut dyn Snapshot, limit: u32) -> PromiseResult<Rows> {
    let mut all = Rows { keys: snapshot.keys().await?, ..Rows::default() };
    loop {
        let after = all.pets.last().map(|pet| pet.id);
        let pets = snapshot.pets(after, limit).await?;
        let no_pets = append(&mut all.pets, pets, limit, |pet| pet.id)?;
        let after = all.records.last().map(IdempotencyRecord::position);
        let records = snapshot.records(after, limit).await?;
        let no_records = append(&mut all.records, records, limit, IdempotencyRecord::position)?;
        if no_pets && no_records {
            return Ok(all);
        }
    }
}

/// Writes rows, one kind at a time. Returns the number of new animals.
pub(super) async fn write_all(
    store: &Store,
    writer: WriterRole,
    rows: &Rows,
) -> PromiseResult<u64> {
    let (archive, mut added) = (archive(store)?, 0);
    let max = archive.max_batch();
    let pets = rows.pets.chunks(max).map(|it| rows_of(it.to_vec()));
    let keys = rows.keys.chunks(max).map(|it| Rows { keys: it.to_vec(), ..Rows::default() });
    let records =
        rows.records.chunks(max).map(|it| Rows { records: it.to_vec(), ..Rows::default() });
    for rows in pets.chain(keys).chain(records) {
        added += archive.write_rows(writer, rows).await?;
    }
    Ok(added)
}

/// Ends the promise unless the archive has exactly the expected rows.
pub(super) async fn require_all(store: &Store, expected: &Rows) -> PromiseResult {
    require(&read_all(store).await?, expected)
}

fn require(actual: &Rows, expected: &Rows) -> PromiseResult {
    ensure_eq_lists("the animals of the archive", &actual.pets, &expected.pets)?;
    ensure_eq_lists("the keys of the archive", &actual.keys, &expected.keys)?;
    ensure_eq_lists("the records", &actual.records, &expected.records)
}

/// Sorts rows in the order of a snapshot.
pub(super) fn sort(rows: &mut Rows) {
    rows.pets.sort_by_key(|pet| pet.id);
    rows.keys.sort_by_key(|key| key.id);
    rows.records.sort_by_key(IdempotencyRecord::position);
}

/// Appends a batch to the rows before it. Returns `true` if the batch is empty, which ends the list.
fn append<T, K: PartialOrd>(
    rows: &mut Vec<T>,
    batch: Vec<T>,
    limit: u32,
    position: impl Fn(&T) -> K,
) -> PromiseResult<bool> {
    let (limit, is_end) = (limit as usize, batch.is_empty());
    ensure!(batch.len() <= limit, "a batch of {} rows", batch.len());
    ensure!(is_end || rows.len().is_multiple_of(limit), "rows follow a list of less than {limit}");
    rows.extend(batch);
    let is_sorted = rows.is_sorted_by(|one, next| position(one) < position(next));
    ensure!(is_sorted, "the rows of a snapshot are out of order");
    Ok(is_end)
}

/// Returns ids out of order: together they contain every byte value, and the lowest and the highest id are included.
fn ids() -> Vec<IdempotencyId> {
    let bytes: Vec<u8> = (0..=255).rev().collect();
    let (all, _) = bytes.as_chunks();
    all.iter().copied().chain([[0; 16], [255; 16]]).map(IdempotencyId).collect()
}

/// Fills a store with animals, records and keys of every kind. Returns its content.
pub(super) async fn populate(store: &Store) -> PromiseResult<Rows> {
    let mut content = rows_of(add_many(store, 25).await?);
    for id in ids() {
        let request = request_with(id, &rex(), 7);
        let pet = created(store.pets.add(rex(), Some(request)).await?)?;
        content.records.push(request.into_record(pet.id));
        content.pets.push(pet);
    }
    for (seed, name, expires) in [(1, "web", Some(10)), (2, "shop", None), (3, "gone", None)] {
        keys::add(store, key(seed, name, 0, expires)).await?;
    }
    roll_key(&*store.keys, key(4, "shop", 1, None), at(20)).await?;
    keys::add(store, read_only_key(5, "report", 0)).await?;
    revoke_keys(&*store.keys, by_name("gone"), at(2)).await?;
    store.keys.note_uses(vec![(keys::listed(store).await?[0].id, at(3))]).await?;
    content.keys = keys::listed(store).await?;
    sort(&mut content);
    Ok(content)
}

/// Contract: a snapshot has every row of the store in ascending order. Records of one animal ascend by the bytes of
/// their ids. Records of deleted animals are included.
pub(super) async fn a_snapshot_holds_everything_in_order(fixture: Fixture) -> PromiseResult {
    let mut expected = populate(fixture.store()).await?;
    // Several records of one animal that does not exist.
    let records = [[255; 16], [0; 16], [127; 16], [128; 16]].map(|id: [u8; 16]| {
        let id = IdempotencyId(id.map(|byte| byte ^ 1));
        request_with(id, &rex(), 9).into_record(PetId(77_000))
    });
    expected.records.extend(records);
    sort(&mut expected);
    write_rows(fixture.store(), Rows { records: records.to_vec(), ..Rows::default() }).await?;
    for (number, limit) in [1, 4, 1000].into_iter().enumerate() {
        let mut snapshot = archive(fixture.handle(number))?.snapshot().await?;
        let Rows { pets, keys, records, .. } = &expected;
        let [pets, keys, records] = [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        let counts = StoreCounts { pets, keys, records };
        ensure_eq("the counts", &snapshot.counts().await?, &counts)?;
        require(&read_batches(&mut *snapshot, limit).await?, &expected)?;
        ensure_eq("behind the end", &snapshot.pets(Some(PetId(i64::MAX)), 5).await?, &Vec::new())?;
    }
    Ok(())
}

/// Contract: a snapshot never shows later writes, and blocks no writer.
pub(super) async fn a_snapshot_does_not_see_later_writes(fixture: Fixture) -> PromiseResult {
    let (store, other) = (fixture.handle(0), fixture.handle(1));
    let expected = populate(store).await?;
    let mut snapshot = archive(store)?.snapshot().await?;
    let counts = snapshot.counts().await?;
    let highest = snapshot.highest_ids().await?;
    for number in 0..20 {
        add(other, samples::numbered(number)).await?;
    }
    other.pets.add(rex(), Some(request("later", &rex(), 8))).await?;
    purge(other, at(7), NO_LIMIT).await?;
    keys::add(other, key(9, "later", 5, None)).await?;
    revoke_keys(&*other.keys, by_name("web"), at(6)).await?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    ensure_eq("the counts", &snapshot.counts().await?, &counts)?;
    ensure_eq("the highest identifiers", &snapshot.highest_ids().await?, &highest)?;
    let actual = tried("a snapshot of 2.5 s ago", read_batches(&mut *snapshot, 10).await)?;
    tried("after later writes", require(&actual, &expected))?;
    let meanwhile = all(store).await?.len();
    ensure_eq("animals in the store meanwhile", &meanwhile, &(expected.pets.len() + 21))
}
