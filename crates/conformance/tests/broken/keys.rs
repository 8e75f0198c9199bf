//! Flaws of keeping API keys.

use std::sync::Arc;

use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, Archive as _, KeyId, KeyRights, KeySelector, NewApiKey,
    RollKeyError, Timestamp,
};
use petstore_memory::MemoryStore;

use crate::{faults::Faults, flaw::Flaw};

async fn listed(store: &MemoryStore) -> Vec<ApiKey> {
    ApiKeyRepository::list(store).await.unwrap().keys
}

/// Held by each [`force`], so that no two of them choose one identifier.
static FORCING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Stores the key without asking whether it may.
async fn force(store: &MemoryStore, key: NewApiKey) -> ApiKey {
    let _alone = FORCING.lock().await;
    let mut restore = store.restore().await.unwrap();
    let highest = listed(store).await.last().map_or(0, |key| key.id.0);
    let key = key.with_id(KeyId(highest + 1));
    restore.keys(vec![key.clone()]).await.unwrap();
    restore.commit().await.unwrap();
    key
}

fn is_selected(key: &ApiKey, selector: &KeySelector) -> bool {
    match selector {
        KeySelector::Id(id) => key.id == *id,
        KeySelector::Name(name) => key.name == *name,
    }
}

/// Lists what `change` makes of the keys.
fn change_list(change: impl Fn(&mut Vec<ApiKey>) + Clone + Send + Sync + 'static) -> Faults {
    Faults::default().keys(move |store, ()| {
        let change = change.clone();
        async move {
            let mut keys = listed(&store).await;
            change(&mut keys);
            Ok(keys.into())
        }
    })
}

/// Stores a key although it was refused for this reason.
fn add_despite(refusal: fn(&AddKeyError) -> bool) -> Faults {
    Faults::default().add_key(move |store, (key, max)| async move {
        match ApiKeyRepository::add(&*store, key.clone(), max).await {
            Err(error) if refusal(&error) => Ok(force(&store, key).await),
            other => other,
        }
    })
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "every key is listed as one that may do everything",
        &["a_key_that_may_only_read_stays_one"],
        |_| {
            change_list(|keys| {
                for key in keys {
                    key.rights = KeyRights::Full;
                }
            })
        },
    ),
    Flaw::new(
        "a revocation is acknowledged and not stored",
        &[
            "a_key_lives_until_exactly_its_expiry",
            "another_handle_sees_what_was_acknowledged",
            "revoking_returns_what_it_has_revoked",
        ],
        |_| {
            Faults::default().revoke(|store, (selector, at)| async move {
                let mut keys = listed(&store).await;
                keys.retain(|key| key.revoked_at.is_none() && is_selected(key, &selector));
                for key in &mut keys {
                    key.revoked_at = Some(at);
                }
                Ok(keys)
            })
        },
    ),
    Flaw::new(
        "a revocation passes over expired keys",
        &["revoking_returns_what_it_has_revoked"],
        |_| {
            Faults::default().revoke(|store, (selector, at)| async move {
                let mut revoked = Vec::new();
                for key in store.live(at).await?.keys {
                    if is_selected(&key, &selector) {
                        revoked.extend(store.revoke(KeySelector::Id(key.id), at).await?);
                    }
                }
                Ok(revoked)
            })
        },
    ),
    Flaw::new("a roll keeps the old key", &["a_roll_retires_its_name_and_no_other"], |_| {
        Faults::default().roll(|store, (key, _, max)| async move {
            store.roll(key, Timestamp(i64::MAX), max).await
        })
    }),
    Flaw::new("a roll needs no key", &["a_roll_needs_a_live_key"], |_| {
        Faults::default().roll(|store, (key, retire_at, max)| async move {
            match store.roll(key.clone(), retire_at, max).await {
                Err(RollKeyError::NoSuchKey) => Ok(force(&store, key).await),
                other => other,
            }
        })
    }),
    Flaw::new(
        "expired keys are live",
        &["a_key_lives_until_exactly_its_expiry", "random_commands_do_as_the_model_does"],
        |_| {
            Faults::default().live(|store, _| async move {
                let mut keys = listed(&store).await;
                keys.retain(|key| key.revoked_at.is_none());
                Ok(keys.into())
            })
        },
    ),
    Flaw::new(
        "a key lives a millisecond too long",
        &["a_key_lives_until_exactly_its_expiry"],
        |_| {
            Faults::default()
                .live(|store, now| async move { store.live(Timestamp(now.0 - 1)).await })
        },
    ),
    Flaw::new(
        "a name is given twice",
        &[
            "a_name_is_taken_by_a_live_key_alone",
            "keys_of_one_name_at_the_same_time_give_one",
            "random_commands_do_as_the_model_does",
        ],
        |_| add_despite(|error| matches!(error, AddKeyError::NameTaken)),
    ),
    Flaw::new(
        "a name is taken for ever",
        &["a_name_is_taken_by_a_live_key_alone", "revoking_returns_what_it_has_revoked"],
        |_| {
            Faults::default().add_key(|store, (key, max)| async move {
                if listed(&store).await.iter().any(|other| other.name == key.name) {
                    return Err(AddKeyError::NameTaken);
                }
                ApiKeyRepository::add(&*store, key, max).await
            })
        },
    ),
    Flaw::new(
        "looking for a name and taking it are two steps",
        &["keys_of_one_name_at_the_same_time_give_one"],
        |_| {
            Faults::default().add_key(|store, (key, max)| async move {
                let live = store.live(key.created_at).await?.keys;
                let taken = live.iter().any(|other| other.name == key.name);
                tokio::task::yield_now().await;
                match ApiKeyRepository::add(&*store, key.clone(), max).await {
                    Err(AddKeyError::NameTaken) if !taken => Ok(force(&store, key).await),
                    other => other,
                }
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "the limit of live keys is not kept",
        &["keys_at_the_same_time_keep_to_the_limit", "no_more_keys_live_than_the_limit"],
        |_| add_despite(|error| matches!(error, AddKeyError::TooManyKeys(_))),
    ),
    Flaw::new(
        "a digest that is stored already is acknowledged again",
        &["a_digest_stored_already_is_not_stored_again"],
        |_| {
            Faults::default().add_key(|store, (key, max)| async move {
                match ApiKeyRepository::add(&*store, key.clone(), max).await {
                    Err(AddKeyError::Store(_)) => Ok(key.with_id(KeyId(1))),
                    other => other,
                }
            })
        },
    ),
    Flaw::new(
        "a roll to a digest that is stored already is acknowledged",
        &["a_digest_stored_already_is_not_stored_again"],
        |_| {
            Faults::default().roll(|store, (key, retire_at, max)| async move {
                match store.roll(key.clone(), retire_at, max).await {
                    Err(RollKeyError::Store(_)) => Ok(key.with_id(KeyId(1))),
                    other => other,
                }
            })
        },
    ),
    Flaw::new(
        "keys are listed in descending order",
        &[
            "a_key_comes_back_as_it_was_given",
            "every_key_there_ever_was_is_listed_in_order",
            "the_latest_use_is_kept",
        ],
        |_| change_list(|keys| keys.reverse()),
    ),
    Flaw::new(
        "revoked keys are not listed",
        &[
            "a_key_that_is_there_already_is_merged",
            "every_key_there_ever_was_is_listed_in_order",
            "revoking_returns_what_it_has_revoked",
        ],
        |_| change_list(|keys| keys.retain(|key| key.revoked_at.is_none())),
    ),
    Flaw::new(
        "the use that was noted last counts, not the latest one",
        &["a_key_that_is_there_already_is_merged", "the_latest_use_is_kept"],
        |notes| {
            let (noting, noted) = (Arc::clone(notes), Arc::clone(notes));
            change_list(move |keys| {
                let uses = noted.uses.lock().unwrap();
                for key in keys {
                    key.last_used_at = uses.get(&key.id).copied();
                }
            })
            .note_use(move |store, uses| {
                noting.uses.lock().unwrap().extend(uses.clone());
                async move { store.note_use(uses).await }
            })
        },
    ),
];
