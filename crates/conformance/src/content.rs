//! The content of a store: the rows that promises write, and that every read must show.

use petstore_domain::{
    IdempotencyId, IdempotencyRecord, IdempotencyRequest, Pet, PetId, PetStatus, Rows, Snapshot,
    WriterRole, revoke_keys, roll_key,
};

use crate::{
    calls::{add_many, all_keys, archive, created, find, load, new_key, rows_of, walk},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, tried},
    fixture::Fixture,
    harness::Store,
    samples::{self, at, by_name, key, read_only_key, rex},
};

/// Breaks the promise unless every handle shows exactly this content: the animals in walks of all and of each status,
/// and by identifier; the keys; and, if the adapter has an archive, all rows in a snapshot. The next key must get an
/// identifier above `held.highest`.
pub(crate) async fn require_held(fixture: &Fixture, held: &Rows) -> PromiseResult {
    for (number, store) in fixture.handles.iter().enumerate() {
        tried(&format!("handle {number}"), require_shown(store, held).await)?;
    }
    Ok(())
}

async fn require_shown(store: &Store, held: &Rows) -> PromiseResult {
    ensure_eq_lists("the list of all animals", &walk(store, 7, None).await?, &held.pets)?;
    for status in PetStatus::ALL {
        let expected = held.pets.iter().filter(|pet| pet.status == Some(status)).cloned();
        let expected: Vec<Pet> = expected.collect();
        let actual = walk(store, 3, Some(status)).await?;
        ensure_eq_lists(format!("the list of {status}"), &actual, &expected)?;
    }
    for pet in &held.pets {
        let found = find(store, pet.id).await?;
        ensure_eq(format!("animal {}", pet.id), &found.as_ref(), &Some(pet))?;
    }
    ensure_eq_lists("the keys", &all_keys(store).await?, &held.keys)?;
    let (next, highest) = (load(store).await?.next_id, held.highest.key);
    ensure!(Some(next) > highest, "the next key is {next:?}, not above {highest:?}");
    if store.archive.is_some() { require_all(store, held).await } else { Ok(()) }
}

/// Reads the rows of a store, in their order. The result has no highest identifiers.
pub(crate) async fn read_all(store: &Store) -> PromiseResult<Rows> {
    read_batches(&mut *archive(store)?.snapshot().await?, 100).await
}

/// Reads the rows of a snapshot in batches of `limit` rows. The rows must ascend.
pub(crate) async fn read_batches(snapshot: &mut dyn Snapshot, limit: u32) -> PromiseResult<Rows> {
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
pub(crate) async fn write_all(
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

/// Breaks the promise unless the archive has exactly the expected rows.
pub(crate) async fn require_all(store: &Store, expected: &Rows) -> PromiseResult {
    require(&read_all(store).await?, expected)
}

pub(crate) fn require(actual: &Rows, expected: &Rows) -> PromiseResult {
    ensure_eq_lists("the animals of the archive", &actual.pets, &expected.pets)?;
    ensure_eq_lists("the keys of the archive", &actual.keys, &expected.keys)?;
    ensure_eq_lists("the records", &actual.records, &expected.records)
}

/// Sorts rows in the order of a snapshot.
pub(crate) fn sort(rows: &mut Rows) {
    rows.pets.sort_by_key(|pet| pet.id);
    rows.keys.sort_by_key(|key| key.id);
    rows.records.sort_by_key(IdempotencyRecord::position);
}

/// Appends a batch to the rows before it, and checks its size and order. Returns `true` if the batch is empty, which
/// ends the list.
fn append<T, K: PartialOrd>(
    rows: &mut Vec<T>,
    batch: Vec<T>,
    limit: u32,
    position: impl Fn(&T) -> K,
) -> PromiseResult<bool> {
    let (limit, is_end) = (limit as usize, batch.is_empty());
    ensure!(batch.len() <= limit, "a batch of {} rows, with a limit of {limit}", batch.len());
    ensure!(is_end || rows.len().is_multiple_of(limit), "rows follow a batch of less than {limit}");
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
pub(crate) async fn populate(store: &Store) -> PromiseResult<Rows> {
    let mut content = rows_of(add_many(store, 25).await?);
    for id in ids() {
        let request = IdempotencyRequest::new(id, &rex(), at(7));
        let pet = created(store.pets.add(rex(), Some(request)).await?)?;
        content.records.push(request.into_record(pet.id));
        content.pets.push(pet);
    }
    for (seed, name, expires) in [(1, "web", Some(10)), (2, "shop", None), (3, "gone", None)] {
        new_key(store, key(seed, name, 0, expires)).await?;
    }
    roll_key(&*store.keys, key(4, "shop", 1, None), at(20)).await?;
    new_key(store, read_only_key(5, "report", 0)).await?;
    revoke_keys(&*store.keys, by_name("gone"), at(2)).await?;
    store.keys.note_uses(vec![(all_keys(store).await?[0].id, at(3))]).await?;
    content.keys = all_keys(store).await?;
    sort(&mut content);
    Ok(content)
}

/// Returns the content of a populated store of the same adapter, with identifiers far above 1.
pub(crate) async fn foreign(fixture: &Fixture) -> PromiseResult<Rows> {
    let source = fixture.another().await?;
    let mut content = populate(source.store()).await?;
    content.pets.iter_mut().for_each(|pet| pet.id.0 += 1_000_000);
    content.keys.iter_mut().for_each(|key| key.id.0 += 5000);
    content.records.iter_mut().for_each(|record| record.pet.0 += 1_000_000);
    Ok(content)
}

/// Returns nine animals from the identifier `first` on.
pub(crate) fn nine(first: i64) -> Vec<Pet> {
    (first..).zip(samples::numbers(9)).map(|(id, pet)| pet.with_id(PetId(id))).collect()
}
