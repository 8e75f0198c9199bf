//! Flaws of keeping API keys.

use std::sync::Arc;

use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyRights, KeyStore as _, Saved, StoreError, StoredKeys, load_keys,
};
use petstore_memory::MemoryStore;

use crate::{faults::Faults, flaw::Flaw};

/// Loads what `change` makes of the keys, whatever the revision.
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

/// Gives another revision, which `mask` makes of the true keys, and takes it for the true one.
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
                    return Ok(Saved::Lost);
                }
                store.save(loaded.revision, changed, removed).await
            }
        })
}

/// Saves over whatever is there.
async fn force(
    store: &MemoryStore,
    changed: Vec<ApiKey>,
    removed: Vec<KeyId>,
) -> Result<Saved, StoreError> {
    loop {
        let revision = load_keys(store).await?.revision;
        if store.save(revision, changed.clone(), removed.clone()).await? == Saved::Yes {
            return Ok(Saved::Yes);
        }
    }
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "every key is loaded as one that may do everything",
        &["a_key_that_may_only_read_stays_one"],
        |_| change_keys(|keys| keys.iter_mut().for_each(|key| key.rights = KeyRights::Full)),
    ),
    Flaw::new(
        "keys are loaded in descending order",
        &["every_key_is_listed_in_order_live_or_not", "the_latest_use_is_kept"],
        |_| change_keys(|keys| keys.reverse()),
    ),
    Flaw::new(
        "revoked keys are not loaded",
        &[
            "a_key_comes_back_as_it_was_given",
            "a_key_that_is_there_already_is_merged",
            "every_key_is_listed_in_order_live_or_not",
        ],
        |_| change_keys(|keys| keys.retain(|key| key.revoked_at.is_none())),
    ),
    Flaw::new(
        "a save is acknowledged and not made",
        &[
            "a_key_comes_back_as_it_was_given",
            "another_handle_sees_what_was_acknowledged",
            "keys_added_at_the_same_time_are_all_there",
            "random_commands_do_as_the_model_does",
        ],
        |_| Faults::default().save(|_, _| async { Ok(Saved::Yes) }),
    ),
    Flaw::new(
        "removed keys stay",
        &["every_key_is_listed_in_order_live_or_not", "a_save_takes_a_hundred_keys"],
        |_| {
            Faults::default().save(|store, (expected, changed, _)| async move {
                store.save(expected, changed, vec![]).await
            })
        },
    ),
    Flaw::new(
        "a key that is written replaces the one that is there: a revocation is undone",
        &["no_save_undoes_a_revocation_or_a_use", "random_commands_do_as_the_model_does"],
        |notes| {
            let (saving, saved) = (Arc::clone(notes), Arc::clone(notes));
            change_loaded(move |loaded| {
                let saved = saved.keys.lock().unwrap();
                for key in &mut loaded.keys {
                    *key = saved.get(&key.id).unwrap_or(key).clone();
                }
            })
            .save(move |store, (expected, changed, removed)| {
                let written = changed.iter().map(|key| (key.id, key.clone()));
                saving.keys.lock().unwrap().extend(written);
                async move { store.save(expected, changed, removed).await }
            })
        },
    ),
    Flaw::new(
        "a save is not compared with the revision",
        &[
            "a_save_over_other_keys_is_lost",
            "of_saves_over_one_revision_one_is_kept",
            "of_saves_of_two_handles_one_is_kept",
        ],
        |_| {
            Faults::default().save(|store, (_, changed, removed)| async move {
                force(&store, changed, removed).await
            })
        },
    ),
    Flaw::new(
        "looking at the revision and saving are two steps",
        &["of_saves_over_one_revision_one_is_kept", "of_saves_of_two_handles_one_is_kept"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                if load_keys(&*store).await?.revision != expected {
                    return Ok(Saved::Lost);
                }
                tokio::task::yield_now().await;
                // As a store does that has the first identifier of its own choice.
                let next = load_keys(&*store).await?.next_id.0;
                let renumber = |(key, id): (ApiKey, i64)| ApiKey { id: KeyId(id), ..key };
                let changed = changed.into_iter().zip(next..).map(renumber).collect();
                force(&store, changed, removed).await
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "the number of keys is the revision",
        &["the_revision_changes_exactly_with_the_keys", "no_two_stores_have_one_revision"],
        |_| {
            Faults::default()
                .load(|store, unless| async move {
                    let loaded = load_keys(&*store).await?;
                    let revision = KeyRevision(loaded.keys.len() as u128);
                    Ok((unless != Some(revision)).then_some(StoredKeys { revision, ..loaded }))
                })
                .save(|store, (_, changed, removed)| async move {
                    force(&store, changed, removed).await
                })
        },
    ),
    Flaw::new(
        "the revisions of all stores count from 0",
        &["no_two_stores_have_one_revision"],
        |_| mask_revision(|loaded| loaded.revision.0 & u128::from(u64::MAX)),
    ),
    Flaw::new("a use is a change", &["the_revision_changes_exactly_with_the_keys"], |_| {
        mask_revision(|loaded| {
            let uses = loaded.keys.iter().filter_map(|key| key.last_used_at);
            loaded.revision.0 ^ u128::from(uses.map(|at| at.0).sum::<i64>().unsigned_abs()) << 32
        })
    }),
    Flaw::new("every load gives every key", &["nothing_is_loaded_that_has_not_changed"], |_| {
        Faults::default().load(|store, _| async move { store.load(None).await })
    }),
    Flaw::new(
        "whoever has loaded keys is told that nothing has changed",
        &[
            "nothing_is_loaded_that_has_not_changed",
            "keys_added_at_the_same_time_are_all_there",
            "keys_added_by_two_handles_are_all_there",
        ],
        |_| {
            Faults::default().load(|store, unless| async move {
                if unless.is_some() { Ok(None) } else { store.load(None).await }
            })
        },
    ),
    Flaw::new(
        "the next identifier is above those that are there, not above those that were",
        &["no_identifier_of_a_key_is_assigned_twice", "random_commands_do_as_the_model_does"],
        |_| {
            change_loaded(|loaded| {
                loaded.next_id = KeyId(loaded.keys.last().map_or(1, |key| key.id.0 + 1));
            })
        },
    ),
    Flaw::new("a save takes fifty keys", &["a_save_takes_a_hundred_keys"], |_| {
        Faults::default().save(|store, (expected, changed, removed)| async move {
            if changed.len() + removed.len() > 50 {
                return Err(StoreError::unavailable("the transaction is too large"));
            }
            store.save(expected, changed, removed).await
        })
    }),
    Flaw::new(
        "a digest that is stored already is acknowledged again",
        &["a_digest_stored_already_is_not_stored_again"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                Ok(store.save(expected, changed, removed).await.unwrap_or(Saved::Yes))
            })
        },
    ),
    Flaw::new(
        "what can be written of a save is written",
        &["a_digest_stored_already_is_not_stored_again"],
        |_| {
            Faults::default().save(|store, (expected, changed, removed)| async move {
                if load_keys(&*store).await?.revision != expected {
                    return Ok(Saved::Lost);
                }
                for key in changed {
                    let _ = force(&store, vec![key], vec![]).await?;
                }
                force(&store, vec![], removed).await
            })
        },
    ),
    Flaw::new(
        "the use that was noted last counts, not the latest one",
        &["a_key_that_is_there_already_is_merged", "the_latest_use_is_kept"],
        |notes| {
            let (noting, noted) = (Arc::clone(notes), Arc::clone(notes));
            change_loaded(move |loaded| {
                let uses = noted.uses.lock().unwrap();
                for key in &mut loaded.keys {
                    key.last_used_at = uses.get(&key.id).copied();
                }
            })
            .save(move |store, (expected, changed, removed)| {
                let used = changed.iter().filter_map(|key| Some((key.id, key.last_used_at?)));
                noting.uses.lock().unwrap().extend(used);
                async move { store.save(expected, changed, removed).await }
            })
        },
    ),
];
