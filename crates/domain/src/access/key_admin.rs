//! The use case of administering API keys, over [`ApiKeyRepository`] and [`Clock`].

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    access::{
        key::{ApiKey, NewApiKey},
        name::KeyName,
        repository::{AddKeyError, ApiKeyRepository, KeySelector, RollKeyError},
        rights::KeyRights,
        secret::ApiKeySecret,
        stored_keys::StoredKeys,
    },
    clock::Clock,
    error::StoreError,
    timestamp::Timestamp,
};

/// Makes, lists, revokes and rolls API keys.
pub struct KeyAdmin {
    keys: Arc<dyn ApiKeyRepository>,
    clock: Arc<dyn Clock>,
}

impl KeyAdmin {
    /// The limit of live keys in one store: a server keeps them all in memory.
    pub const MAX_LIVE_KEYS: u32 = 10_000;

    /// Administers the keys that `keys` keeps.
    #[must_use]
    pub fn new(keys: Arc<dyn ApiKeyRepository>, clock: Arc<dyn Clock>) -> Self {
        Self { keys, clock }
    }

    /// Stores `secret` under `name`. It expires after `lifetime`, or never.
    ///
    /// # Errors
    /// [`AddKeyError`].
    pub async fn create(
        &self,
        name: KeyName,
        secret: &ApiKeySecret,
        lifetime: Option<Duration>,
    ) -> Result<ApiKey, AddKeyError> {
        let key = new_key(name, secret, self.clock.now(), lifetime);
        self.keys.add(key, Self::MAX_LIVE_KEYS).await
    }

    /// Stores `secret` as the first key of a store that has none. `None` if the store has some, or if
    /// another process stores one at the same time.
    ///
    /// # Errors
    /// [`AddKeyError`] without [`AddKeyError::NameTaken`].
    pub async fn create_first(
        &self,
        name: KeyName,
        secret: &ApiKeySecret,
    ) -> Result<Option<ApiKey>, AddKeyError> {
        if !self.keys.list().await?.is_empty() {
            return Ok(None);
        }
        match self.create(name, secret, None).await {
            Ok(key) => Ok(Some(key)),
            Err(AddKeyError::NameTaken) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The rights of the live key that is called `name`, for the key that takes its place; the least there
    /// are if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn rights_of(&self, name: &KeyName) -> Result<KeyRights, StoreError> {
        let live = self.keys.live(self.clock.now()).await?.keys;
        let newest = live.iter().rfind(|key| key.name == *name);
        Ok(newest.map_or(KeyRights::ReadOnly, |key| key.rights))
    }

    /// Stores `secret` under a name that a live key has; that key stays live for `overlap`. The new key
    /// should have the [rights](Self::rights_of) of that one.
    ///
    /// # Errors
    /// [`RollKeyError`].
    pub async fn roll(
        &self,
        name: KeyName,
        secret: &ApiKeySecret,
        overlap: Duration,
    ) -> Result<ApiKey, RollKeyError> {
        let now = self.clock.now();
        let key = new_key(name, secret, now, None);
        self.keys.roll(key, now.plus(overlap), Self::MAX_LIVE_KEYS).await
    }

    /// Revokes what `selector` names; empty if there is nothing to revoke.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke(&self, selector: KeySelector) -> Result<Vec<ApiKey>, StoreError> {
        self.keys.revoke(selector, self.clock.now()).await
    }

    /// Every key there ever was, and the time at which they were listed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self) -> Result<(StoredKeys, Timestamp), StoreError> {
        Ok((self.keys.list().await?, self.clock.now()))
    }
}

fn new_key(
    name: KeyName,
    secret: &ApiKeySecret,
    now: Timestamp,
    lifetime: Option<Duration>,
) -> NewApiKey {
    NewApiKey::new(name, secret, now, lifetime.map(|lifetime| now.plus(lifetime)))
}

impl fmt::Debug for KeyAdmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyAdmin").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use mockall::predicate::{always, eq};

    use super::KeyAdmin;
    use crate::{
        AddKeyError, ApiKeySecret, KeyId, KeyName, ManualClock, MockApiKeyRepository, RollKeyError,
        StoredKeys, Timestamp,
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn admin(keys: MockApiKeyRepository) -> KeyAdmin {
        KeyAdmin::new(Arc::new(keys), Arc::new(ManualClock::new(NOW)))
    }

    fn web() -> KeyName {
        KeyName::parse("web").unwrap()
    }

    #[tokio::test]
    async fn a_key_is_added_up_to_the_limit_of_live_keys() {
        let mut keys = MockApiKeyRepository::new();
        keys.expect_list().returning(|| Ok(StoredKeys::default()));
        keys.expect_add()
            .times(2)
            .with(always(), eq(10_000))
            .returning(|_, max| Err(AddKeyError::TooManyKeys(max)));
        let (admin, secret) = (admin(keys), ApiKeySecret::from_entropy(&[1; 32]));
        let refusal = admin.create(web(), &secret, None).await;
        assert!(matches!(refusal, Err(AddKeyError::TooManyKeys(10_000))));
        let refusal = admin.create_first(web(), &secret).await;
        assert!(matches!(refusal, Err(AddKeyError::TooManyKeys(10_000))));
    }

    #[tokio::test]
    async fn a_key_is_rolled_up_to_the_limit_of_live_keys() {
        let mut keys = MockApiKeyRepository::new();
        keys.expect_roll()
            .once()
            .with(always(), eq(NOW.plus(Duration::from_secs(9))), eq(10_000))
            .returning(|key, _, _| Ok(key.with_id(KeyId(2))));
        let secret = ApiKeySecret::from_entropy(&[1; 32]);
        let rolled: Result<_, RollKeyError> =
            admin(keys).roll(web(), &secret, Duration::from_secs(9)).await;
        assert_eq!(rolled.unwrap().created_at, NOW);
    }
}
