//! The use cases that change API keys. Each loads the keys of a [`KeyStore`], applies a rule, and saves the change. If
//! the keys have changed meanwhile, the use case starts again.

use crate::{
    access::{
        key::{ApiKey, NewApiKey},
        key_rules::{KeyChange, KeyChangeError, KeySelector},
        key_store::{KeyStore, MAX_KEYS_PER_SAVE, SaveOutcome, StoredKeys, load_keys},
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// The largest number of attempts at a change. An attempt fails if another process changes keys at the same time.
const MAX_TRIES: u32 = 100;

/// Adds a key under the next identifier of the store.
///
/// # Errors
/// [`KeyChangeError`].
pub async fn add_key(keys: &dyn KeyStore, key: NewApiKey) -> Result<ApiKey, KeyChangeError> {
    change(keys, |stored| stored.add(key.clone(), None)).await
}

/// Adds the first key of a store. Returns `None` if the store has keys, or if another process adds a key at the same
/// time.
///
/// # Errors
/// [`KeyChangeError::Store`]; no rule refuses the first key.
pub async fn add_first_key(
    keys: &dyn KeyStore,
    key: NewApiKey,
) -> Result<Option<ApiKey>, KeyChangeError> {
    let add_first = |stored: &StoredKeys| {
        let added = stored.is_empty().then(|| stored.add(key.clone(), None)).transpose()?;
        let (key, change) = added.unzip();
        Ok((key, change.unwrap_or_default()))
    };
    change(keys, add_first).await
}

/// Adds a key under the next identifier, and [retires](ApiKey::retired) every live key of the same name at
/// `retire_at`. Does not copy the [rights](StoredKeys::rights_of) or the [lifetime](StoredKeys::lifetime_of) of the
/// retired keys: the caller chooses both.
///
/// # Errors
/// [`KeyChangeError`].
pub async fn roll_key(
    keys: &dyn KeyStore,
    key: NewApiKey,
    retire_at: Timestamp,
) -> Result<ApiKey, KeyChangeError> {
    change(keys, |stored| stored.add(key.clone(), Some(retire_at))).await
}

/// Revokes the selected keys, the live keys first, in as many saves as they take. Returns the revoked keys, ascending
/// by identifier.
///
/// # Errors
/// [`StoreError`]; some of the keys may already be revoked.
pub async fn revoke_keys(
    keys: &dyn KeyStore,
    selector: KeySelector,
    at: Timestamp,
) -> Result<Vec<ApiKey>, StoreError> {
    let mut revoked = Vec::new();
    loop {
        let some = change(keys, |stored| stored.revoke(&selector, at)).await?;
        let is_last = some.len() < MAX_KEYS_PER_SAVE;
        revoked.extend(some);
        if is_last {
            revoked.sort_by_key(|key| key.id);
            return Ok(revoked);
        }
    }
}

/// Loads the keys, and saves the change that `change` makes from them. Starts again after a conflict with another
/// process.
async fn change<T, E: From<StoreError>>(
    keys: &dyn KeyStore,
    change: impl Fn(&StoredKeys) -> Result<(T, KeyChange), E>,
) -> Result<T, E> {
    for _ in 0..MAX_TRIES {
        let stored = load_keys(keys).await?;
        let (made, KeyChange { changed, removed }) = change(&stored)?;
        if changed.is_empty() && removed.is_empty() {
            return Ok(made);
        }
        match keys.save(stored.revision, changed, removed).await? {
            SaveOutcome::Saved => return Ok(made),
            SaveOutcome::Conflict => {}
        }
    }
    Err(StoreError::unavailable("other processes keep changing its API keys").into())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mockall::predicate::{always, eq};

    use super::{add_first_key, add_key, revoke_keys};
    use crate::{
        ApiKey, KeyChangeError, KeyId, KeyRevision, KeySelector, MockKeyStore, NewApiKey,
        SaveOutcome, StoreError, StoredKeys, Timestamp,
        access::tests::{corrupt, key, name, secret},
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn new() -> NewApiKey {
        NewApiKey::new(name("web"), &secret(1), NOW, None)
    }

    #[tokio::test]
    async fn the_first_key_is_added_only_to_a_store_without_keys() {
        let revoked = ApiKey { revoked_at: Some(NOW), ..key(1, "web", None) };
        let ways = [(vec![], true), (vec![key(1, "web", None)], false), (vec![revoked], false)];
        let ways = ways.map(|(stored, is_added)| (StoredKeys::from(stored), is_added));
        let unread = StoredKeys { corrupt: vec![corrupt(1, "app")], ..vec![].into() };
        for (stored, is_added) in ways.into_iter().chain([(unread, false)]) {
            let mut keys = MockKeyStore::new();
            let loaded = stored.clone();
            keys.expect_load().returning(move |_| Ok(Some(loaded.clone())));
            let saves = usize::from(is_added);
            keys.expect_save().times(saves).returning(|_, _, _| Ok(SaveOutcome::Saved));
            let added = add_first_key(&keys, new()).await.unwrap();
            assert_eq!(added.is_some(), is_added, "{stored:?}");
        }
    }

    #[tokio::test]
    async fn a_change_is_retried_after_a_conflict() {
        let mut keys = MockKeyStore::new();
        let mut loads = [vec![], vec![key(2, "web", Some(NOW.0))]].into_iter().enumerate();
        keys.expect_load().times(2).returning(move |unless| {
            assert_eq!(unless, None);
            let (number, keys) = loads.next().unwrap();
            Ok(Some(StoredKeys { revision: KeyRevision(number as u128), ..keys.into() }))
        });
        for (revision, outcome) in [(0, SaveOutcome::Conflict), (1, SaveOutcome::Saved)] {
            let save = keys.expect_save().once();
            let save = save.with(eq(KeyRevision(revision)), always(), eq(vec![]));
            save.returning(move |_, _, _| Ok(outcome));
        }
        assert_eq!(add_key(&keys, new()).await.unwrap().id, KeyId(3));
    }

    #[tokio::test]
    async fn a_permanent_conflict_and_a_failed_save_are_errors() {
        let failure = Err(StoreError::unavailable("the answer is lost"));
        // The failed save may have had its effect, so it is not repeated.
        for (end, saves) in [(Ok(SaveOutcome::Conflict), 100), (failure, 1)] {
            let mut keys = MockKeyStore::new();
            keys.expect_load().returning(|_| Ok(Some(vec![].into())));
            keys.expect_save().times(saves).returning(move |_, _, _| end.clone());
            let refusal = add_key(&keys, new()).await;
            assert!(matches!(refusal, Err(KeyChangeError::Store(StoreError::Unavailable(_)))));
        }
    }

    #[tokio::test]
    async fn more_keys_than_one_save_accepts_are_revoked_in_several_saves() {
        let mut stored: Vec<_> = (1..=250).map(|id| key(id, "web", Some(NOW.0))).collect();
        stored[249].expires_at = None;
        let stored = Arc::new(Mutex::new(stored));
        let mut keys = MockKeyStore::new();
        let loaded = Arc::clone(&stored);
        keys.expect_load().returning(move |_| Ok(Some(loaded.lock().unwrap().clone().into())));
        let mut is_first = true;
        keys.expect_save().times(3).returning(move |_, changed, _| {
            assert!(changed.len() <= 100);
            assert_eq!(changed[0].expires_at.is_none(), is_first, "the live key goes first");
            is_first = false;
            for key in changed {
                let index = usize::try_from(key.id.0 - 1).unwrap();
                stored.lock().unwrap()[index] = key;
            }
            Ok(SaveOutcome::Saved)
        });
        let web = KeySelector::Name(name("web"));
        let revoked = revoke_keys(&keys, web.clone(), NOW).await.unwrap();
        let ids: Vec<_> = revoked.iter().map(|key| key.id.0).collect();
        assert_eq!(ids, (1..=250).collect::<Vec<_>>());
        // There is nothing left to save.
        assert_eq!(revoke_keys(&keys, web, NOW).await.unwrap(), []);
    }
}
