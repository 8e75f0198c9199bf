//! A store as a whole: reading it.

use petstore_domain::{IdempotencyId, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts};

use super::keys;
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{add, add_many, all, archive, created, purge},
    harness::Store,
    samples::{self, MANY, at, by_name, key, read_only_key, request, request_with, rex},
};

/// All that a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) pets: Vec<Pet>,
    pub(super) keys: Vec<petstore_domain::ApiKey>,
    pub(super) records: Vec<IdempotencyRecord>,
}

impl Content {
    pub(super) async fn read(store: &Store) -> Result<Self, Broken> {
        Self::read_batches(&mut *archive(store)?.snapshot().await?, 100).await
    }

    /// Reads all in batches of `limit`, which must be ascending.
    async fn read_batches(snapshot: &mut dyn Snapshot, limit: u32) -> Result<Self, Broken> {
        let mut content = Self { keys: snapshot.keys().await?, ..Self::default() };
        loop {
            let after = content.pets.last().map(|pet| pet.id);
            let batch = snapshot.pets(after, limit).await?;
            if batch.is_empty() {
                break;
            }
            ensure!(batch.len() <= limit as usize, "a batch of {} animals", batch.len());
            content.pets.extend(batch);
            ensure!(
                content.pets.is_sorted_by(|one, next| one.id < next.id),
                "animals out of order"
            );
        }
        loop {
            let after = content.records.last().map(|record| record.id);
            let batch = snapshot.idempotency_records(after, limit).await?;
            if batch.is_empty() {
                return Ok(content);
            }
            ensure!(batch.len() <= limit as usize, "a batch of {} records", batch.len());
            content.records.extend(batch);
            let sorted = content.records.is_sorted_by(|one, next| one.id < next.id);
            ensure!(sorted, "records are not in the order of their ids");
        }
    }
}

/// Ids that together have every byte, out of order, and the lowest and the highest id.
fn ids() -> Vec<IdempotencyId> {
    let bytes: Vec<u8> = (0..=255).rev().collect();
    let (all, _) = bytes.as_chunks();
    all.iter().copied().chain([[0; 16], [255; 16]]).map(IdempotencyId).collect()
}

/// Fills a store with animals, records and keys of every kind. Returns what it holds then.
pub(super) async fn populate(store: &Store) -> Result<Content, Broken> {
    let mut content = Content { pets: add_many(store, 25).await?, ..Content::default() };
    for id in ids() {
        let request = request_with(id, &rex(), 7);
        let pet = created(store.pets.add(rex(), Some(request)).await?)?;
        content.records.push(request.into_record(pet.id));
        content.pets.push(pet);
    }
    content.records.sort_by_key(|record| record.id);
    for (seed, name, expires) in [(1, "web", Some(10)), (2, "shop", None), (3, "gone", None)] {
        keys::add(store, key(seed, name, 0, expires)).await?;
    }
    keys::roll(store, key(4, "shop", 1, None), at(20)).await?;
    keys::add(store, read_only_key(5, "report", 0)).await?;
    keys::revoke(store, by_name("gone"), at(2)).await?;
    keys::note_uses(store, &[(keys::listed(store).await?[0].id, 3)]).await?;
    content.keys = keys::listed(store).await?;
    Ok(content)
}

/// Contract: a view of all that is in the store, in batches in ascending order.
pub(super) async fn a_snapshot_holds_all_in_ordered_batches(store: Store) -> Checked {
    let expected = populate(&store).await?;
    for limit in [1, 4, 1000] {
        let mut snapshot = archive(&store)?.snapshot().await?;
        let counts = StoreCounts {
            pets: expected.pets.len() as u64,
            keys: expected.keys.len() as u64,
            idempotency_records: expected.records.len() as u64,
        };
        same("the counts", &snapshot.counts().await?, &counts)?;
        let actual = Content::read_batches(&mut *snapshot, limit).await?;
        same("the animals", &actual.pets, &expected.pets)?;
        same("the keys", &actual.keys, &expected.keys)?;
        same("the records", &actual.records, &expected.records)?;
        same("behind the end", &snapshot.pets(Some(PetId(i64::MAX)), 5).await?, &Vec::new())?;
    }
    Ok(())
}

/// Contract: what is written later does not show in it, and it holds up no writer.
pub(super) async fn a_snapshot_does_not_see_later_writes(store: Store) -> Checked {
    let expected = populate(&store).await?;
    let mut snapshot = archive(&store)?.snapshot().await?;
    let counts = snapshot.counts().await?;
    for number in 0..20 {
        add(&store, samples::numbered(number)).await?;
    }
    store.pets.add(rex(), Some(request("later", &rex(), 8))).await?;
    purge(&store, at(7), MANY).await?;
    keys::add(&store, key(9, "later", 5, None)).await?;
    keys::revoke(&store, by_name("web"), at(6)).await?;
    same("the counts", &snapshot.counts().await?, &counts)?;
    let actual = Content::read_batches(&mut *snapshot, 10).await?;
    ensure!(actual == expected, "the snapshot has changed with the store");
    same("animals in the store meanwhile", &all(&store).await?.len(), &(expected.pets.len() + 21))
}
