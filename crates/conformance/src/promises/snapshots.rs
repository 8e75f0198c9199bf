//! A store as a whole: reading it.

use petstore_domain::{Idempotency, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts};

use crate::{
    Broken, Harness, Store,
    broken::{Checked, ensure, same},
    fresh::{Fresh, add, add_many, all, archive, mark, now},
    samples::{self, MANY, at, attempt_by, by_name, key, rex},
};

/// All that a store holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) pets: Vec<Pet>,
    pub(super) keys: Vec<petstore_domain::ApiKey>,
    pub(super) attempts: Vec<IdempotencyRecord>,
}

impl Content {
    pub(super) async fn of(store: &Store) -> Result<Self, Broken> {
        Self::read(&mut *archive(store)?.snapshot().await?, 100).await
    }

    /// Reads all in batches of `at_most`, which must be ascending.
    async fn read(snapshot: &mut dyn Snapshot, at_most: u32) -> Result<Self, Broken> {
        let mut content = Self { keys: snapshot.keys().await?, ..Self::default() };
        loop {
            let after = content.pets.last().map(|pet| pet.id);
            let batch = snapshot.pets(after, at_most).await?;
            if batch.is_empty() {
                break;
            }
            ensure!(batch.len() <= at_most as usize, "a batch of {} animals", batch.len());
            content.pets.extend(batch);
            ensure!(
                content.pets.is_sorted_by(|one, next| one.id < next.id),
                "animals out of order"
            );
        }
        loop {
            let after = content.attempts.last().map(|record| record.idempotency.clone());
            let batch = snapshot.idempotency_records(after, at_most).await?;
            if batch.is_empty() {
                return Ok(content);
            }
            ensure!(batch.len() <= at_most as usize, "a batch of {} records", batch.len());
            content.attempts.extend(batch);
            let records = &content.attempts;
            let sorted = records.is_sorted_by(|one, next| order(one) < order(next));
            ensure!(sorted, "records are not in the order of caller and key");
        }
    }
}

fn order(record: &IdempotencyRecord) -> ([u8; 32], &[u8]) {
    let Idempotency { caller, key } = &record.idempotency;
    (caller.0, key.as_str().as_bytes())
}

/// Fills a store with animals, records and keys of every kind; what it holds then.
pub(super) async fn furnish(store: &Store) -> Result<Content, Broken> {
    let mut content = Content { pets: add_many(store, 25).await?, ..Content::default() };
    for (caller, name) in [(2, "a"), (1, "b"), (1, "B"), (255, "~"), (1, "a.b"), (1, "a"), (0, "!")]
    {
        let record = attempt_by(caller, name, &rex(), 7);
        let pet = now(store.pets.add(rex(), Some(record.clone())).await?)?;
        content.attempts.push(IdempotencyRecord {
            idempotency: record.idempotency,
            fingerprint: record.fingerprint,
            pet: pet.id,
            at: record.at,
        });
        content.pets.push(pet);
    }
    content.attempts.sort_by(|one, other| order(one).cmp(&order(other)));
    for (seed, name, expires) in [(1, "web", Some(10)), (2, "shop", None), (3, "gone", None)] {
        store.keys.add(key(seed, name, 0, expires), MANY).await?;
    }
    store.keys.roll(key(4, "shop", 1, None), at(20), MANY).await?;
    store.keys.revoke(by_name("gone"), at(2)).await?;
    let used = store.keys.list().await?.iter().map(|key| (key.id, at(3))).take(1).collect();
    store.keys.note_use(used).await?;
    content.keys = store.keys.list().await?;
    Ok(content)
}

pub(super) async fn a_snapshot_holds_all_in_ordered_batches(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let due = furnish(&store).await?;
    for at_most in [1, 4, 1000] {
        let mut snapshot = archive(&store)?.snapshot().await?;
        let counts = StoreCounts {
            pets: due.pets.len() as u64,
            keys: due.keys.len() as u64,
            idempotency_records: due.attempts.len() as u64,
        };
        same("the counts", &snapshot.counts().await?, &counts)?;
        let seen = Content::read(&mut *snapshot, at_most).await?;
        same("the animals", &seen.pets, &due.pets)?;
        same("the keys", &seen.keys, &due.keys)?;
        same("the records", &seen.attempts, &due.attempts)?;
        same("behind the end", &snapshot.pets(Some(PetId(i64::MAX)), 5).await?, &Vec::new())?;
    }
    Ok(())
}

pub(super) async fn a_snapshot_gives_keys_of_records_as_they_are(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    // The outer quotes are not part of the key, the inner ones are.
    let mut due = Vec::new();
    for text in ["a'b\\", "\"\"whole\"\"", "\"\"open\"", "\"close\"\"", "\"\"\""] {
        let attempt = attempt_by(1, text, &rex(), 0);
        due.push(attempt.idempotency.key.as_str().to_owned());
        store.pets.add(rex(), Some(attempt)).await?;
    }
    due.sort();
    let records = Content::of(&store).await?.attempts;
    let seen: Vec<_> = records.iter().map(|record| record.idempotency.key.as_str()).collect();
    same("the idempotency keys", &seen, &due)
}

pub(super) async fn a_snapshot_does_not_see_later_writes(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let due = furnish(&store).await?;
    let mut snapshot = archive(&store)?.snapshot().await?;
    let counts = snapshot.counts().await?;
    for number in 0..20 {
        add(&store, samples::numbered(number)).await?;
    }
    store.pets.add(rex(), Some(attempt_by(1, "later", &rex(), 8))).await?;
    store.pets.purge_expired(at(7), MANY).await?;
    store.keys.add(key(9, "later", 5, None), MANY).await?;
    store.keys.revoke(by_name("web"), at(6)).await?;
    same("the counts", &snapshot.counts().await?, &counts)?;
    let seen = Content::read(&mut *snapshot, 10).await?;
    ensure!(seen == due, "the snapshot has changed with the store");
    same("animals in the store meanwhile", &all(&store).await?.len(), &(due.pets.len() + 21))
}

pub(super) async fn a_restore_changes_the_mark(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    add(&store, rex()).await?;
    let before = mark(&store).await?;
    let mut restore = archive(&store)?.restore().await?;
    restore.new_pets(vec![rex()]).await?;
    restore.commit().await?;
    ensure!(mark(&store).await? != before, "the mark is {before:?} before and after a restore");
    Ok(())
}
