//! Flaws in storing API keys.

use petstore_domain::{
    ApiKey, KeyChanges, KeyId, KeyRevision, KeyRow, KeyStore as _, SaveOutcome, StoreError,
    StoredKeys, Timestamp, load_keys,
};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Faults, Handle},
    flaw::Flaw,
    names::{
        COPIED, DIGEST, GIVEN_KEY, HUNDRED, MERGED, MODEL, ONE_SAVE, OPENED, REVISION, RING, USES,
        WRITTEN,
    },
};

/// Changes the loaded keys.
fn change_keys(it: &mut Faults, change: fn(&Handle, &mut Vec<ApiKey>)) {
    it.load.replace(move |store, unless| async move {
        let mut loaded = store.load(unless).await?;
        if let Some(loaded) = &mut loaded {
            change(&store, &mut loaded.keys);
        }
        Ok(loaded)
    });
}

/// Returns and expects the revision that `mask` computes from the keys, instead of the true revision.
fn mask_revision(it: &mut Faults, mask: fn(&Handle, &StoredKeys) -> u128) {
    it.load.replace(move |store, unless| async move {
        let loaded = load_keys(&*store).await?;
        let revision = KeyRevision(mask(&store, &loaded));
        Ok((unless != Some(revision)).then_some(StoredKeys { revision, ..loaded }))
    });
    it.save.replace(move |store, (expected, changed, removed)| async move {
        let loaded = load_keys(&*store).await?;
        if KeyRevision(mask(&store, &loaded)) != expected {
            return Ok(SaveOutcome::Conflict);
        }
        store.save(loaded.revision, changed, removed).await
    });
}

/// Returns a revision that only a new key changes.
fn without_count(loaded: &StoredKeys) -> u128 {
    loaded.revision.0 >> 64 << 64 | u128::from(loaded.next_id.0.unsigned_abs()) << 32
}

/// Saves over any stored revision.
async fn force(
    store: &MemoryStore,
    changed: Vec<ApiKey>,
    removed: Vec<KeyId>,
) -> Result<SaveOutcome, StoreError> {
    loop {
        let revision = load_keys(store).await?.revision;
        if store.save(revision, changed.clone(), removed.clone()).await? == SaveOutcome::Saved {
            return Ok(SaveOutcome::Saved);
        }
    }
}

/// Saves over any stored revision if `is_forced` returns `true` for the expected revision and the changed keys. Answers
/// with `outcome`.
fn force_if(it: &mut Faults, outcome: SaveOutcome, is_forced: fn(KeyRevision, &[ApiKey]) -> bool) {
    it.save.replace(move |store, (expected, changed, removed)| async move {
        if is_forced(expected, &changed) {
            return force(&store, changed, removed).await.map(|_| outcome);
        }
        store.save(expected, changed, removed).await
    });
}

/// Skips new keys with the digest of a stored key that `is_free` returns `true` for.
fn skip_digests(it: &mut Faults, is_free: fn(&ApiKey) -> bool) {
    it.save.replace(move |store, (expected, mut changed, removed)| async move {
        let stored = load_keys(&*store).await?.keys;
        let is_taken = |old: &ApiKey, key: &ApiKey| old.id != key.id && old.digest == key.digest;
        changed.retain(|key| !stored.iter().any(|old| is_free(old) && is_taken(old, key)));
        store.save(expected, changed, removed).await
    });
}

/// Refuses a note of uses if `is_refused` returns `true` for the uses and the stored keys.
fn refuse_uses(it: &mut Faults, is_refused: fn(&[KeyId], &[ApiKey]) -> bool) {
    it.note_uses.replace(move |store, uses| async move {
        let ids: Vec<_> = uses.iter().map(|(id, _)| *id).collect();
        if is_refused(&ids, &load_keys(&*store).await?.keys) {
            return Err(StoreError::refused("the uses are wrong"));
        }
        store.note_uses(uses).await
    });
}

/// Answers every removal with `outcome`.
fn answer_removals(it: &mut Faults, outcome: SaveOutcome) {
    it.save.edit_output(move |_, (_, changed, _), saved| {
        *saved = if changed.is_empty() { outcome } else { *saved };
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a key is never older than 1970", &[GIVEN_KEY], |it| {
        change_keys(it, |_, keys| {
            let old = keys.iter_mut().filter(|key| key.created_at < Timestamp(0));
            old.for_each(|key| key.created_at = Timestamp(0));
        });
    }),
    Flaw::new("a key with a name of 64 characters is lost", &[GIVEN_KEY], |it| {
        change_keys(it, |_, keys| keys.retain(|key| key.name.as_str().len() < 64));
    }),
    Flaw::new("keys are loaded in descending order", &[USES], |it| {
        change_keys(it, |_, keys| keys.reverse());
    }),
    Flaw::new("revoked keys are not loaded", &[GIVEN_KEY, MERGED, MODEL], |it| {
        change_keys(it, |_, keys| keys.retain(|key| key.revoked_at.is_none()));
    }),
    Flaw::new("removed keys stay", &[HUNDRED], |it| {
        it.save.edit_input(|(_, _, removed)| removed.clear());
    }),
    Flaw::new("a save keeps the rights of a stored key", &[HUNDRED], |it| {
        it.save.replace(|store, (expected, mut changed, removed)| async move {
            let stored = load_keys(&*store).await?.keys;
            for key in &mut changed {
                let before = stored.iter().find(|stored| stored.id == key.id);
                key.rights = before.map_or(key.rights, |stored| stored.rights);
            }
            store.save(expected, changed, removed).await
        });
    }),
    Flaw::new("a save stores the last use of its keys", &[USES], |it| {
        it.save.replace(|store, (expected, changed, removed)| async move {
            let uses = changed.iter().filter_map(|key| Some((key.id, key.last_used_at?)));
            let uses = uses.collect();
            let saved = store.save(expected, changed, removed).await?;
            store.note_uses(uses).await?;
            Ok(saved)
        });
    }),
    Flaw::new("a removal over an older revision is made", &[ONE_SAVE], |it| {
        let is_late = |expected: KeyRevision, changed: &[_]| changed.is_empty() && expected.0 > 0;
        force_if(it, SaveOutcome::Conflict, is_late);
    }),
    Flaw::new("a removal over the revision 0 is not compared", &[ONE_SAVE], |it| {
        force_if(it, SaveOutcome::Saved, |expected, _| expected.0 == 0);
    }),
    Flaw::new("a save compares the revision in another transaction", &[ONE_SAVE], |it| {
        it.save.replace(|store, (expected, changed, removed)| async move {
            if load_keys(&*store).await?.revision != expected {
                return Ok(SaveOutcome::Conflict);
            }
            tokio::task::yield_now().await;
            // Like a store that chooses the identifiers by itself.
            let next = load_keys(&*store).await?.next_id.0;
            let renumber = |(key, id): (ApiKey, i64)| ApiKey { id: KeyId(id), ..key };
            let changed = changed.into_iter().zip(next..).map(renumber).collect();
            force(&store, changed, removed).await
        });
    })
    .on_one_thread(),
    Flaw::new("the keys of all new stores have one revision", &[REVISION], |it| {
        mask_revision(it, |_, loaded| if loaded.next_id.0 > 1 { loaded.revision.0 } else { 7 });
    }),
    Flaw::new("each handle has a revision of its own", &[OPENED], |it| {
        mask_revision(it, |store, loaded| loaded.revision.0 ^ u128::from(store.number));
    }),
    Flaw::new("the use of a key changes the revision", &[REVISION], |it| {
        mask_revision(it, |_, loaded| {
            let uses = loaded.keys.iter().filter_map(|key| key.last_used_at);
            loaded.revision.0 ^ u128::from(uses.map(|at| at.0).sum::<i64>().unsigned_abs()) << 32
        });
    }),
    Flaw::new("a revocation does not change the revision", &[REVISION], |it| {
        mask_revision(it, |_, loaded| without_count(loaded) + loaded.keys.len() as u128);
    }),
    Flaw::new("a removal does not change the revision", &[REVISION], |it| {
        mask_revision(it, |_, loaded| {
            let revoked = loaded.keys.iter().filter(|key| key.revoked_at.is_some());
            without_count(loaded) + revoked.count() as u128
        });
    }),
    Flaw::new("the revision never changes", &[REVISION, WRITTEN], |it| {
        mask_revision(it, |_, loaded| loaded.revision.0 >> 64);
    }),
    Flaw::new("the revision is computed from the keys", &[REVISION], |it| {
        mask_revision(it, |_, loaded| {
            let keys = loaded.keys.iter().map(|key| (key.digest.0[0], key.revoked_at));
            let text = format!("{:?}", keys.collect::<Vec<_>>());
            text.bytes().fold(7, |hash, byte| hash * 31 % (1 << 100) + u128::from(byte))
        });
    }),
    Flaw::new("a load returns all keys even if their revision is known", &[REVISION], |it| {
        it.load.edit_input(|unless| *unless = None);
    }),
    Flaw::new("a load after the first says that nothing has changed", &[REVISION], |it| {
        it.load.edit_output(|_, unless, loaded| _ = loaded.take_if(|_| unless.is_some()));
    }),
    Flaw::new("the next key may have the identifier of a removed one", &[MODEL, COPIED], |it| {
        it.load.edit_output(|_, _, loaded| {
            if let Some(StoredKeys { keys, next_id, .. }) = loaded {
                *next_id = KeyId(keys.last().map_or(1, |key| key.id.0 + 1));
            }
        });
    }),
    Flaw::new("the changes contain only new keys", &[RING], |it| {
        it.load_changes.replace(|store, known| async move {
            let mut changes: KeyChanges = load_keys(&*store).await?.into();
            let highest = known.map_or(0, |known| known.position);
            let id = |row: &KeyRow| row.0.as_ref().map_or(0, |key| key.id.0);
            changes.mark.position = changes.rows.iter().map(id).fold(highest, i64::max);
            changes.rows.retain(|row| id(row) > highest);
            Ok(changes)
        });
    }),
    Flaw::new("the changes name a key as it was named first", &[RING], |it| {
        it.load_changes.edit_output(|store, _, changes| {
            let mut first = store.notes.keys.lock().unwrap();
            for key in changes.rows.iter_mut().filter_map(|row| row.0.as_mut().ok()) {
                key.name = first.entry(key.id).or_insert_with(|| key.clone()).name.clone();
            }
        });
    }),
    Flaw::new("a future mark counts as up to date", &[RING], |it| {
        it.load_changes.edit_output(|_, known, changes| {
            if let Some(known) = known.filter(|known| known.position == i64::MAX) {
                *changes = KeyChanges::none_since(known);
            }
        });
    }),
    Flaw::new("a save of a hundred keys leaves the first one out", &[HUNDRED], |it| {
        it.save.edit_input(|(_, changed, _)| drop(changed.drain(..changed.len() / 100)));
    }),
    Flaw::new("a key with the digest of a live key is skipped", &[DIGEST], |it| {
        skip_digests(it, |key| key.revoked_at.is_none());
    }),
    Flaw::new("a key with the digest of a revoked key is skipped", &[DIGEST], |it| {
        skip_digests(it, |key| key.revoked_at.is_some());
    }),
    Flaw::new("a refused save stores the first of two keys with one digest", &[DIGEST], |it| {
        it.save.replace(|store, (expected, mut changed, removed)| async move {
            let saved = store.save(expected, changed.clone(), removed.clone()).await;
            changed.dedup_by_key(|key| key.digest);
            if saved.is_err() {
                let _ = store.save(expected, changed, removed).await;
            }
            saved
        });
    }),
    Flaw::new("a refused save is reported as unavailable", &[DIGEST], |it| {
        it.save.replace(|store, (expected, changed, removed)| async move {
            let saved = store.save(expected, changed, removed).await;
            saved.map_err(StoreError::unavailable)
        });
    }),
    Flaw::new("a removed key does not come back", &[DIGEST], |it| {
        it.save.replace(|store, (expected, mut changed, removed)| async move {
            let stored = load_keys(&*store).await?.keys;
            let mut gone = store.notes.keys.lock().unwrap().clone();
            changed.retain(|key| gone.values().all(|old| old.digest != key.digest));
            gone.extend(stored.into_iter().map(|key| (key.id, key)));
            gone.retain(|id, _| removed.contains(id));
            store.notes.keys.lock().unwrap().extend(gone);
            store.save(expected, changed, removed).await
        });
    }),
    Flaw::new("expired keys are not loaded", &[GIVEN_KEY], |it| {
        change_keys(it, |_, keys| {
            keys.retain(|key| key.expires_at.is_none_or(|at| at.0 > 1_700_000_000_000));
        });
    }),
    Flaw::new("the use that was noted last counts, not the latest one", &[USES], |it| {
        change_keys(it, |store, keys| {
            let uses = store.notes.uses.lock().unwrap();
            for key in keys {
                key.last_used_at = uses.get(&key.id).copied();
            }
        });
        it.note_uses.replace(|store, uses| async move {
            store.notes.uses.lock().unwrap().extend(uses.clone());
            store.note_uses(uses).await
        });
    }),
    Flaw::new("noting the use of a removed key is an error", &[USES], |it| {
        refuse_uses(it, |uses, keys| uses.iter().any(|id| keys.iter().all(|key| key.id != *id)));
    }),
    Flaw::new("noting no use is an error", &[USES], |it| {
        refuse_uses(it, |uses, _| uses.is_empty());
    }),
    Flaw::new("noting a hundred uses is an error", &[HUNDRED], |it| {
        refuse_uses(it, |uses, _| uses.len() >= 100);
    }),
    Flaw::new("a removal is acknowledged as a conflict", &[DIGEST], |it| {
        answer_removals(it, SaveOutcome::Conflict);
    }),
    Flaw::new("a removal over another revision is acknowledged", &[ONE_SAVE], |it| {
        answer_removals(it, SaveOutcome::Saved);
    }),
];
