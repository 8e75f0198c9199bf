//! A store in memory, a clock that tests set, and changes of API keys at the time of this clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use petstore_domain::{
    ApiKey, ApiKeySecret, Clock, KeyChangeError, KeyName, KeySelector, KeyStore, NewApiKey,
    StoreError, StoredKeys, Timestamp, add_key, load_keys, revoke_keys, roll_key,
};
use petstore_memory::MemoryStore;

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

/// A clock that a test sets.
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    pub(crate) fn advance(&self, step: Duration) {
        self.0.store(self.now().plus(step).0, Ordering::Relaxed);
    }

    pub(crate) fn set_back(&self, step: Duration) {
        self.0.store(self.now().minus(step).0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) fn parts() -> (Arc<MemoryStore>, Arc<TestClock>) {
    (Arc::new(MemoryStore::new()), Arc::new(TestClock::new(START)))
}

pub(crate) fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

pub(crate) fn name(text: &str) -> KeyName {
    KeyName::parse(text).unwrap()
}

/// Changes the keys of a store at the time of a test clock.
pub(crate) struct KeyAdmin {
    pub(crate) keys: Arc<dyn KeyStore>,
    pub(crate) clock: Arc<TestClock>,
}

impl KeyAdmin {
    pub(crate) async fn create(
        &self,
        name: KeyName,
        secret: &ApiKeySecret,
        lifetime: Option<Duration>,
    ) -> Result<ApiKey, KeyChangeError> {
        let now = self.clock.now();
        let key = NewApiKey::new(name, secret, now, lifetime.map(|lifetime| now.plus(lifetime)));
        add_key(&*self.keys, key).await
    }

    pub(crate) async fn roll(
        &self,
        name: KeyName,
        secret: &ApiKeySecret,
        overlap: Duration,
    ) -> Result<ApiKey, KeyChangeError> {
        let now = self.clock.now();
        roll_key(&*self.keys, NewApiKey::new(name, secret, now, None), now.plus(overlap)).await
    }

    pub(crate) async fn revoke(&self, selector: KeySelector) -> Result<Vec<ApiKey>, StoreError> {
        revoke_keys(&*self.keys, selector, self.clock.now()).await
    }

    pub(crate) async fn list(&self) -> Result<(StoredKeys, Timestamp), StoreError> {
        Ok((load_keys(&*self.keys).await?, self.clock.now()))
    }
}
