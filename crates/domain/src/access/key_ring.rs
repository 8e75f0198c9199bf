//! The use case of authentication: the API keys of a [`KeyStore`] in memory.
//!
//! It has no runtime and never waits for a request. Whoever owns it [refreshes](KeyRing::refresh) it, one
//! refresh at a time, and says to each judgement how old the keys are.

mod snapshot;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use self::snapshot::Snapshot;
pub use self::snapshot::{Judgement, RevokedUse};
use crate::{
    access::{
        authenticator::{Caller, KeyLabel},
        key::KeyId,
        key_store::KeyStore,
        rights::KeyRights,
        secret::ApiKeySecret,
        service_key::ServiceKey,
    },
    clock::Clock,
    error::{Corruption, StoreError},
    timestamp::Timestamp,
};

/// The API keys as of the last refresh.
pub struct KeyRing {
    keys: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    service_key: Option<ServiceKey>,
    snapshot: RwLock<Arc<Snapshot>>,
}

/// The uses of a key are written back no more often than this.
const WRITE_BACK_AGE: Duration = Duration::from_mins(1);

impl KeyRing {
    /// Keys older than this are not trusted: a revoked one might be among them. The age counts from the
    /// beginning of a refresh.
    pub const MAX_AGE: Duration = Duration::from_secs(1);

    /// Returns the keys that `keys` keeps, before the first refresh, and `service_key` besides.
    #[must_use]
    pub fn new(
        keys: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        service_key: Option<ServiceKey>,
    ) -> Self {
        Self { keys, clock, service_key, snapshot: RwLock::default() }
    }

    /// Reads the keys again, if they have changed.
    ///
    /// # Errors
    /// [`StoreError`]; the keys are as before.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let known = self.snapshot().revision();
        if let Some(stored) = self.keys.load(known).await? {
            let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            *current = Arc::new(Snapshot::new(stored, &current));
        }
        Ok(())
    }

    /// Judges a key by the keys of the last refresh, which began `age` ago; `None` if there was none.
    pub fn judge(&self, secret: &ApiKeySecret, age: Option<Duration>) -> Judgement {
        let digest = secret.digest();
        if self.service_key.as_ref().is_some_and(|key| key.is(&digest)) {
            return Judgement::Granted(Caller { digest, rights: KeyRights::Full });
        }
        if age.is_none_or(|age| age > Self::MAX_AGE) {
            let may_be_held = secret.is_well_formed();
            return if may_be_held { Judgement::Stale } else { Judgement::Malformed };
        }
        // Most requests end here, so this shares nothing with other threads but the lock.
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        snapshot.judge(secret, digest, self.clock.now())
    }

    /// Returns what the caller's key is called; `None` if it is not held any more.
    pub fn key_label(&self, caller: &Caller) -> Option<KeyLabel> {
        if self.service_key.as_ref().is_some_and(|key| key.is(&caller.digest)) {
            return Some(KeyLabel::Service);
        }
        self.snapshot().name(&caller.digest).cloned().map(KeyLabel::Stored)
    }

    /// Returns how many keys are live.
    pub fn live_keys(&self) -> usize {
        self.snapshot().live_at(self.clock.now())
    }

    /// Writes back when keys were last used, each at most once a minute.
    ///
    /// # Errors
    /// [`StoreError`]; the next call tries again.
    pub async fn write_back_uses(&self) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let due: Vec<(KeyId, Timestamp)> = snapshot.uses_due(self.clock.now(), WRITE_BACK_AGE);
        if !due.is_empty() {
            self.keys.note_uses(due.clone()).await?;
            snapshot.uses_written(&due);
        }
        Ok(())
    }

    /// Counts the answer to a key that was not live.
    pub fn note_refusal(&self, secret: &ApiKeySecret) {
        self.snapshot().note_refusal(&secret.digest());
    }

    /// Returns the revoked keys that were presented since the last call.
    pub fn take_revoked_uses(&self) -> Vec<RevokedUse> {
        self.snapshot().take_revoked_uses()
    }

    /// Returns the rows that could not be read, as of the last refresh.
    pub fn corruptions(&self) -> Vec<Corruption> {
        self.snapshot().corrupt().to_vec()
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").finish_non_exhaustive()
    }
}
