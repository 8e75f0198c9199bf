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
    use std::sync::Arc;

    use mockall::predicate::{always, eq};

    use super::{MAX_TRIES, add_key, revoke_keys};
    use crate::{
        ApiKey, ApiKeySecret, KeyChangeError, KeyId, KeyName, KeyRevision, KeySelector,
        MockKeyStore, NewApiKey, SaveOutcome, StoreError, StoredKeys, Timestamp,
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn web() -> KeyName {
        KeyName::parse("web").unwrap()
    }

    fn new() -> NewApiKey {
        NewApiKey::new(web(), &ApiKeySecret::from_entropy(&[1; 32]), NOW, None)
    }

    /// Returns the key `id` of the name `web`, which expires at `expires_at`.
    fn key(id: u8, expires_at: Option<Timestamp>) -> ApiKey {
        let secret = ApiKeySecret::from_entropy(&[id; 32]);
        NewApiKey::new(web(), &secret, Timestamp(0), expires_at).with_id(KeyId(id.into()))
    }

    #[tokio::test]
    async fn a_change_is_retried_after_a_conflict() {
        let mut keys = MockKeyStore::new();
        let mut loads = [vec![], vec![key(2, Some(NOW))]].into_iter().enumerate();
        keys.expect_load().times(2).returning(move |unless| {
            assert_eq!(unless, None);
            let (number, keys) = loads.next().unwrap();
            Ok(Some(StoredKeys { revision: KeyRevision(number as u128), ..keys.into() }))
        });
        let lost = eq(KeyRevision(0));
        keys.expect_save()
            .once()
            .with(lost, always(), eq(vec![]))
            .returning(|_, _, _| Ok(SaveOutcome::Conflict));
        let won = eq(KeyRevision(1));
        keys.expect_save()
            .once()
            .with(won, always(), eq(vec![]))
            .returning(|_, _, _| Ok(SaveOutcome::Saved));
        assert_eq!(add_key(&keys, new()).await.unwrap().id, KeyId(3));
    }

    #[tokio::test]
    async fn a_permanent_conflict_of_a_change_is_an_error() {
        let mut keys = MockKeyStore::new();
        keys.expect_load().returning(|_| Ok(Some(vec![].into())));
        let tries = usize::try_from(MAX_TRIES).unwrap();
        keys.expect_save().times(tries).returning(|_, _, _| Ok(SaveOutcome::Conflict));
        let refusal = add_key(&keys, new()).await;
        assert!(matches!(refusal, Err(KeyChangeError::Store(StoreError::Unavailable(_)))));
    }

    #[tokio::test]
    async fn more_keys_than_one_save_accepts_are_revoked_in_several_saves() {
        let mut stored: Vec<_> = (1..=250).map(|id| key(id, Some(NOW))).collect();
        stored[249].expires_at = None;
        let stored = Arc::new(std::sync::Mutex::new(stored));
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
        let web = KeySelector::Name(web());
        let revoked = revoke_keys(&keys, web.clone(), NOW).await.unwrap();
        let ids: Vec<_> = revoked.iter().map(|key| key.id.0).collect();
        assert_eq!(ids, (1..=250).collect::<Vec<_>>());
        // There is nothing left to save.
        assert_eq!(revoke_keys(&keys, web, NOW).await.unwrap(), []);
    }
}
