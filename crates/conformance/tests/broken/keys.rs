//! Flaws in storing API keys.

use std::sync::Arc;

use petstore_domain::{
    ApiKey, KeyChanges, KeyId, KeyRevision, KeyRights, KeyRow, KeyStore as _, SaveOutcome,
    StoreError, StoredKeys, load_keys,
};
use petstore_memory::MemoryStore;

use crate::{faults::Faults, flaw::Flaw};

/// Changes the loaded keys by `change`.
fn change_loaded(change: impl Fn(&mut StoredKeys) + Clone + Send + Sync + 'static) -> Faults {
    Faults::default().load(move |store, unless| {
        let change = change.clone();
        async move {
            let mut loaded = store.load(unless).await?;
            loaded.iter_mut().for_each(change);
            Ok(loaded)
        }
    })
}

fn change_keys(change: fn(&mut Vec<ApiKey>)) -> Faults {
    change_loaded(move |loaded| change(&mut loaded.keys))
}

/// Returns and expects the revision that `mask` computes from the keys, instead of the true revision.
fn mask_revision(mask: impl Fn(&StoredKeys) -> u128 + Clone + Send + Sync + 'static) -> Faults {
    let masked = move |loaded: &StoredKeys| KeyRevision(mask(loaded));
    let of_saves = masked.clone();
    Faults::default()
        .load(move |store, unless| {
            let masked = masked.clone();
            async move {
                let loaded = load_keys(&*store).await?;
                let revision = masked(&loaded);
                Ok((unless != Some(revision)).then_some(StoredKeys { revision, ..loaded }))
            }
        })
        .save(move |store, (expected, changed, removed)| {
            let masked = of_saves.clone();
            async move {
                let loaded = load_keys(&*store).await?;
                if masked(&loaded) != expected {
                    return Ok(SaveOutcome::Conflict);
                }
                store.save(loaded.revision, changed, removed).await
            }
        })
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

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "every key is loaded with full rights",
        &["a_key_comes_back_as_it_was_given"],
        |_| change_keys(|keys| keys.iter_mut().for_each(|key| key.rights = KeyRights::Full)),
    ),
    Flaw::new("keys are loaded in descending order", &["a_save_keeps_the_latest_use"], |_| {
        change_keys(|keys| keys.reverse())
    }),
    Flaw::new(
        "revoked keys are not loaded",
        &[
            "a_key_comes_back_as_it_was_given",
            "a_key_that_is_there_already_is_merged",
            "random_commands_do_as_the_model_does",
        ],
        |_| change_keys(|keys| keys.retain(|key| key.revoked_at.is_none())),
    ),
    Flaw::new(
        "a save is acknowledged, but changes nothing",
        &[
            "a_key_comes_back_as_it_was_given",
            "a_write_shows_everywhere_and_changes_nothing_else",
            "random_commands_do_as_the_model_does",
        ],
        |_| Faults::default().save(|_, _| async { Ok(SaveOutcome::Saved) }),
    ),
    Flaw::new("removed keys stay", &["a_save_takes_a_hundred_keys"], |_| {
        Faults::default().save(|store, (expected, changed, _)| async move {
            store.save(expected, changed, vec![]).await
        })
    }),
    Flaw::new("a save stores the last use of its keys", &["a_save_keeps_the_latest_use"], |_| {
        Faults::default().save(|store, (expected, changed, removed)| async move {
            let uses = changed.iter().filter_map(|key| Some((key.id, key.last_used_at?)));
            let uses = uses.collect();
            let saved = store.save(expected, changed, removed).await?;
            store.note_uses(uses).await?;
            Ok(saved)
        })
    }),
    Flaw::new(
        "a save merges a key with the stored one, so an expiry or revocation cannot be removed",
        &["random_commands_do_as_the_model_does"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                let stored = load_keys(&*store).await?.keys;
                let merged = changed.into_iter().map(|key| {
                    let old = stored.iter().find(|old| old.id == key.id);
                    old.and_then(|old| old.merged_with(&key)).unwrap_or(key)
                });
                store.save(expected, merged.collect(), removed).await
            })
        },
    ),
    Flaw::new(
        "a save is not compared with the revision",
        &["of_saves_over_one_revision_one_is_kept"],
        |_| {
            Faults::default().save(|store, (_, changed, removed)| async move {
                force(&store, changed, removed).await
            })
        },
    ),
    Flaw::new(
        "a save compares the revision in one transaction and writes in another",
        &["of_saves_over_one_revision_one_is_kept"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                if load_keys(&*store).await?.revision != expected {
                    return Ok(SaveOutcome::Conflict);
                }
                tokio::task::yield_now().await;
                // Like a store that chooses the identifiers by itself.
                let next = load_keys(&*store).await?.next_id.0;
                let renumber = |(key, id): (ApiKey, i64)| ApiKey { id: KeyId(id), ..key };
                let changed = changed.into_iter().zip(next..).map(renumber).collect();
                force(&store, changed, removed).await
            })
        },
    )
    .on_one_thread(),
    Flaw::new("the number of keys is the revision", &["a_revision_never_comes_back"], |_| {
        Faults::default()
            .load(|store, unless| async move {
                let loaded = load_keys(&*store).await?;
                let revision = KeyRevision(loaded.keys.len() as u128);
                Ok((unless != Some(revision)).then_some(StoredKeys { revision, ..loaded }))
            })
            .save(
                |store, (_, changed, removed)| async move { force(&store, changed, removed).await },
            )
    }),
    Flaw::new("the revisions of all stores count from 0", &["a_revision_never_comes_back"], |_| {
        mask_revision(|loaded| loaded.revision.0 & u128::from(u64::MAX))
    }),
    Flaw::new("the use of a key changes the revision", &["a_revision_never_comes_back"], |_| {
        mask_revision(|loaded| {
            let uses = loaded.keys.iter().filter_map(|key| key.last_used_at);
            loaded.revision.0 ^ u128::from(uses.map(|at| at.0).sum::<i64>().unsigned_abs()) << 32
        })
    }),
    Flaw::new(
        "a load returns all keys even if their revision is known",
        &["a_revision_never_comes_back"],
        |_| Faults::default().load(|store, _| async move { store.load(None).await }),
    ),
    Flaw::new(
        "a load after the first says that nothing has changed",
        &["a_revision_never_comes_back"],
        |_| {
            Faults::default().load(|store, unless| async move {
                if unless.is_some() { Ok(None) } else { store.load(None).await }
            })
        },
    ),
    Flaw::new(
        "the next identifier is above the present keys, not above removed keys",
        &["random_commands_do_as_the_model_does"],
        |_| {
            change_loaded(|loaded| {
                loaded.next_id = KeyId(loaded.keys.last().map_or(1, |key| key.id.0 + 1));
            })
        },
    ),
    Flaw::new("the changes contain only new keys", &["a_key_ring_follows_every_change"], |_| {
        Faults::default().load_changes(|store, known| async move {
            let mut changes: KeyChanges = load_keys(&*store).await?.into();
            let highest = known.map_or(0, |known| known.position);
            let id = |row: &KeyRow| row.0.as_ref().map_or(0, |key| key.id.0);
            changes.mark.position = changes.rows.iter().map(id).fold(highest, i64::max);
            changes.rows.retain(|row| id(row) > highest);
            Ok(changes)
        })
    }),
    Flaw::new("a future mark counts as up to date", &["a_key_ring_follows_every_change"], |_| {
        Faults::default().load_changes(|store, known| async move {
            match known.filter(|known| known.position == i64::MAX) {
                Some(known) => Ok(KeyChanges::none_since(known)),
                None => store.load_changes(known).await,
            }
        })
    }),
    Flaw::new(
        "a save of more than fifty keys is unavailable",
        &["a_save_takes_a_hundred_keys"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                if changed.len() + removed.len() > 50 {
                    return Err(StoreError::unavailable("the transaction is too large"));
                }
                store.save(expected, changed, removed).await
            })
        },
    ),
    Flaw::new("a refused save is acknowledged", &["a_digest_of_another_key_is_refused"], |_| {
        Faults::default().save(|store, (expected, changed, removed)| async move {
            Ok(store.save(expected, changed, removed).await.unwrap_or(SaveOutcome::Saved))
        })
    }),
    Flaw::new(
        "a save writes its keys one by one, up to the refused key",
        &["a_digest_of_another_key_is_refused"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                if load_keys(&*store).await?.revision != expected {
                    return Ok(SaveOutcome::Conflict);
                }
                for key in changed {
                    let _ = force(&store, vec![key], vec![]).await?;
                }
                force(&store, vec![], removed).await
            })
        },
    ),
    Flaw::new(
        "a refused save is reported as unavailable",
        &["a_digest_of_another_key_is_refused"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                let saved = store.save(expected, changed, removed).await;
                saved.map_err(StoreError::unavailable)
            })
        },
    ),
    Flaw::new(
        "the digest of a removed key stays taken",
        &["a_digest_of_another_key_is_refused"],
        |notes| {
            let notes = Arc::clone(notes);
            Faults::default().save(move |store, (expected, changed, removed)| {
                let notes = Arc::clone(&notes);
                async move {
                    let stored = load_keys(&*store).await?.keys;
                    let mut gone = notes.keys.lock().unwrap().clone();
                    if changed.iter().any(|key| gone.values().any(|old| old.digest == key.digest)) {
                        return Err(StoreError::refused("the digest is taken"));
                    }
                    gone.extend(stored.into_iter().map(|key| (key.id, key)));
                    gone.retain(|id, _| removed.contains(id));
                    notes.keys.lock().unwrap().extend(gone);
                    store.save(expected, changed, removed).await
                }
            })
        },
    ),
    Flaw::new("the revision is computed from the keys", &["a_revision_never_comes_back"], |_| {
        mask_revision(|loaded| {
            let keys = loaded.keys.iter().map(|key| (key.digest.0[0], key.revoked_at));
            let text = format!("{:?}", keys.collect::<Vec<_>>());
            text.bytes().fold(7, |hash, byte| hash * 31 % (1 << 100) + u128::from(byte))
        })
    }),
    Flaw::new(
        "the revision is the time in milliseconds",
        &["a_revision_never_comes_back"],
        |notes| {
            let (stamps, begun) = (Arc::clone(notes), std::time::Instant::now());
            mask_revision(move |loaded| {
                // The time at which this revision was first seen.
                let mut seen = stamps.uses.lock().unwrap();
                let known = KeyId(i64::try_from(loaded.revision.0 & u128::from(u32::MAX)).unwrap());
                let now = i64::try_from(begun.elapsed().as_millis()).unwrap();
                u128::from(
                    seen.entry(known).or_insert(petstore_domain::Timestamp(now)).0.unsigned_abs(),
                )
            })
        },
    ),
    Flaw::new("expired keys are not loaded", &["a_key_comes_back_as_it_was_given"], |_| {
        change_keys(|keys| {
            keys.retain(|key| key.expires_at.is_none_or(|at| at.0 > 1_700_000_000_000));
        })
    }),
    Flaw::new(
        "the use that was noted last counts, not the latest one",
        &["a_save_keeps_the_latest_use"],
        |notes| {
            let (noting, noted) = (Arc::clone(notes), Arc::clone(notes));
            change_loaded(move |loaded| {
                let uses = noted.uses.lock().unwrap();
                for key in &mut loaded.keys {
                    key.last_used_at = uses.get(&key.id).copied();
                }
            })
            .note_uses(move |store, uses| {
                noting.uses.lock().unwrap().extend(uses.clone());
                async move { store.note_uses(uses).await }
            })
        },
    ),
    Flaw::new(
        "noting the use of a removed key is an error",
        &["a_save_keeps_the_latest_use"],
        |_| {
            Faults::default().note_uses(|store, uses| async move {
                let keys = load_keys(&*store).await?.keys;
                if uses.iter().any(|(id, _)| keys.iter().all(|key| key.id != *id)) {
                    return Err(StoreError::refused("there is no such key"));
                }
                store.note_uses(uses).await
            })
        },
    ),
];
