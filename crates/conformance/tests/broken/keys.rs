//! Flaws of keeping API keys.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, Archive, KeyId, KeySelector, NewApiKey, RollKeyError,
    Timestamp,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

async fn listed(store: &MemoryStore) -> Vec<ApiKey> {
    ApiKeyRepository::list(store).await.unwrap()
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

/// Makes an adapter out of methods, and the test that it is caught.
macro_rules! flawed_keys {
    ($test:ident, $flaw:ident { $($method:item)* } $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw { $($method)* }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

flawed_keys! { a_revoke_that_forgets_is_caught, RevokeForgets {
    async fn revoke(&self, store: &MemoryStore, by: KeySelector, at: Timestamp) -> Vec<ApiKey> {
        let chosen = |key: &ApiKey| match &by {
            KeySelector::Id(id) => key.id == *id,
            KeySelector::Name(name) => key.name == *name,
        };
        let keys = listed(store).await.into_iter();
        let chosen = keys.filter(|key| key.revoked_at.is_none() && chosen(key));
        chosen.map(|key| ApiKey { revoked_at: Some(at), ..key }).collect()
    }
} ["a_key_lives_until_exactly_its_expiry", "a_name_is_taken_by_a_live_key_alone", "a_roll_needs_a_live_key", "a_roll_retires_its_name_and_no_other", "another_handle_sees_what_was_acknowledged", "revoking_tells_what_it_has_revoked"] }

flawed_keys! { a_revoke_that_passes_over_expired_keys_is_caught, RevokesTheLiveAlone {
    async fn revoke(&self, store: &MemoryStore, by: KeySelector, at: Timestamp) -> Vec<ApiKey> {
        let KeySelector::Name(name) = &by else { return store.revoke(by, at).await.unwrap() };
        let mut revoked = Vec::new();
        for key in store.live(at).await.unwrap() {
            if key.name == *name {
                revoked.extend(store.revoke(KeySelector::Id(key.id), at).await.unwrap());
            }
        }
        revoked
    }
} ["revoking_tells_what_it_has_revoked"] }

flawed_keys! { a_roll_that_keeps_the_old_key_is_caught, RollKeeps {
    async fn roll(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        _: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        // Retired at the end of time, so that only what a roll checks is done.
        store.roll(key, Timestamp(i64::MAX), most).await
    }
} ["a_roll_retires_its_name_and_no_other"] }

flawed_keys! { a_roll_without_a_key_is_caught, RollsNothing {
    async fn roll(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        match store.roll(key.clone(), retire_at, most).await {
            Err(RollKeyError::NoSuchKey) => Ok(force(store, key).await),
            other => other,
        }
    }
} ["a_roll_needs_a_live_key"] }

flawed_keys! { live_keys_with_the_expired_is_caught, LiveIncludesExpired {
    async fn live(&self, store: &MemoryStore, _: Timestamp) -> Vec<ApiKey> {
        let keys = listed(store).await.into_iter();
        keys.filter(|key| key.revoked_at.is_none()).collect()
    }
} ["a_key_lives_until_exactly_its_expiry", "random_commands_do_as_the_model_does"] }

flawed_keys! { a_key_that_lives_a_moment_too_long_is_caught, MomentTooLong {
    async fn live(&self, store: &MemoryStore, now: Timestamp) -> Vec<ApiKey> {
        store.live(Timestamp(now.0 - 1)).await.unwrap()
    }
} ["a_key_lives_until_exactly_its_expiry"] }

flawed_keys! { a_name_given_twice_is_caught, NameGivenTwice {
    async fn add_key(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        most: u32,
    ) -> Result<ApiKey, AddKeyError> {
        match ApiKeyRepository::add(store, key.clone(), most).await {
            Err(AddKeyError::NameTaken) => Ok(force(store, key).await),
            other => other,
        }
    }
} ["a_name_is_taken_by_a_live_key_alone", "keys_of_one_name_at_the_same_time_give_one", "random_commands_do_as_the_model_does"] }

flawed_keys! { a_name_taken_for_ever_is_caught, NameTakenForEver {
    async fn add_key(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        most: u32,
    ) -> Result<ApiKey, AddKeyError> {
        if listed(store).await.iter().any(|other| other.name == key.name) {
            return Err(AddKeyError::NameTaken);
        }
        ApiKeyRepository::add(store, key, most).await
    }
} ["a_name_is_taken_by_a_live_key_alone", "revoking_tells_what_it_has_revoked"] }

flawed_keys! { a_bound_that_is_not_kept_is_caught, Unbounded {
    async fn add_key(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        _: u32,
    ) -> Result<ApiKey, AddKeyError> {
        ApiKeyRepository::add(store, key, u32::MAX).await
    }
} ["keys_at_the_same_time_keep_to_the_most", "no_more_keys_live_than_may"] }

/// Looks for the name, lets others go first, and then adds as if nobody had.
#[derive(Clone)]
struct NameRace;

#[async_trait]
impl Flaw for NameRace {
    async fn add_key(
        &self,
        store: &MemoryStore,
        key: NewApiKey,
        most: u32,
    ) -> Result<ApiKey, AddKeyError> {
        let taken = store.live(key.created_at).await.unwrap();
        let taken = taken.iter().any(|other| other.name == key.name);
        tokio::task::yield_now().await;
        match ApiKeyRepository::add(store, key.clone(), most).await {
            Err(AddKeyError::NameTaken) if !taken => Ok(force(store, key).await),
            other => other,
        }
    }
}

// One thread: where a call lets others go first, each of them does.
#[tokio::test]
async fn names_checked_before_a_moment_are_caught() {
    is_caught_by(NameRace, ["keys_of_one_name_at_the_same_time_give_one"]).await;
}

flawed_keys! { keys_listed_newest_first_are_caught, NewestFirst {
    async fn keys(&self, store: &MemoryStore) -> Vec<ApiKey> {
        let mut keys = listed(store).await;
        keys.reverse();
        keys
    }
} ["a_key_comes_back_as_it_was_given", "a_name_is_taken_by_a_live_key_alone", "a_restore_brings_back_every_field", "a_restore_may_be_repeated", "a_restore_names_what_is_in_its_way", "a_roll_needs_a_live_key", "a_roll_retires_its_name_and_no_other", "a_snapshot_does_not_see_later_writes", "a_snapshot_holds_all_in_ordered_batches", "every_key_there_ever_was_is_listed_in_order", "no_more_keys_live_than_may", "revoking_tells_what_it_has_revoked", "the_latest_use_is_kept"] }

flawed_keys! { a_list_without_the_revoked_is_caught, RevokedHidden {
    async fn keys(&self, store: &MemoryStore) -> Vec<ApiKey> {
        let keys = listed(store).await.into_iter();
        keys.filter(|key| key.revoked_at.is_none()).collect()
    }
} ["a_key_that_is_there_already_is_joined", "a_name_is_taken_by_a_live_key_alone", "a_roll_needs_a_live_key", "a_roll_retires_its_name_and_no_other", "a_snapshot_does_not_see_later_writes", "a_snapshot_holds_all_in_ordered_batches", "every_key_there_ever_was_is_listed_in_order", "revoking_tells_what_it_has_revoked"] }

/// Keeps the use that was noted last, not the latest one.
#[derive(Clone, Default)]
struct LastNoted(Arc<Mutex<HashMap<KeyId, Timestamp>>>);

#[async_trait]
impl Flaw for LastNoted {
    async fn note_use(&self, store: &MemoryStore, uses: Vec<(KeyId, Timestamp)>) {
        self.0.lock().unwrap().extend(uses.clone());
        store.note_use(uses).await.unwrap();
    }

    async fn keys(&self, store: &MemoryStore) -> Vec<ApiKey> {
        let keys = listed(store).await.into_iter();
        let noted = self.0.lock().unwrap();
        keys.map(|key| ApiKey { last_used_at: noted.get(&key.id).copied(), ..key }).collect()
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_that_goes_back_is_caught() {
    is_caught_by(
        LastNoted::default(),
        ["a_key_that_is_there_already_is_joined", "the_latest_use_is_kept"],
    )
    .await;
}
