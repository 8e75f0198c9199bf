//! The use case of authentication: [`Authenticator`] over [`ApiKeyRepository`] and [`Clock`].

mod snapshot;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

use self::snapshot::{Admission, Snapshot};
use crate::{
    access::{
        authenticator::{AuthenticationError, Authenticator, Caller},
        repository::ApiKeyRepository,
        secret::{ApiKeySecret, KeyDigest},
        service_key::ServiceKey,
    },
    clock::Clock,
    error::StoreError,
    timestamp::Timestamp,
};

/// A cache of the live API keys, reloaded from the store before it is a second old.
///
/// No task runs in the background. The request that finds the cache half a second old reloads it,
/// while the others use it as it is; no request uses a cache older than a second. So a revoked key is
/// refused within that second, and an idle service does nothing.
pub struct KeyRing {
    keys: Arc<dyn ApiKeyRepository>,
    clock: Arc<dyn Clock>,
    service_key: Option<ServiceKey>,
    snapshot: RwLock<Arc<Snapshot>>,
    reloading: AtomicBool,
}

/// From this age on, one request at a time reloads the keys.
const SOFT_AGE: Duration = Duration::from_millis(500);
/// Beyond this age, keys are not trusted: a revoked one might be among them.
const HARD_AGE: Duration = Duration::from_secs(1);
/// From this age on, an unknown key leads to a reload: it may have been made since.
const MISS_AGE: Duration = Duration::from_millis(100);
/// The uses of a key are written back no more often than this.
const WRITE_BACK_AGE: Duration = Duration::from_mins(1);

impl KeyRing {
    /// The keys that `keys` keeps, and `service_key` besides.
    #[must_use]
    pub fn new(
        keys: Arc<dyn ApiKeyRepository>,
        clock: Arc<dyn Clock>,
        service_key: Option<ServiceKey>,
    ) -> Self {
        let snapshot = RwLock::new(Arc::new(Snapshot::never()));
        Self { keys, clock, service_key, snapshot, reloading: AtomicBool::new(false) }
    }

    /// Writes back when keys were last used, each at most once a minute.
    ///
    /// # Errors
    /// [`StoreError`]; the next call tries again.
    pub async fn write_back_uses(&self) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let due = snapshot.uses_due(self.clock.now(), WRITE_BACK_AGE);
        if !due.is_empty() {
            self.keys.note_use(due.clone()).await?;
            snapshot.uses_written(&due);
        }
        Ok(())
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the key is live, if the cache is young enough. Most requests end here, so this shares
    /// nothing with other threads but the lock.
    fn known(&self, key: &Presented<'_>) -> Option<Admission> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        snapshot.is_younger_than(SOFT_AGE, key.at).then(|| key.verdict(&snapshot)).flatten()
    }

    /// Whether the key is live, after a reload if one is needed.
    async fn look_up(&self, key: &Presented<'_>) -> Result<Admission, StoreError> {
        let snapshot = self.trusted(key.at).await?;
        match key.verdict(&snapshot) {
            Some(admission) => Ok(admission),
            None => Ok(key.admission(&*self.reload(key.at).await?)),
        }
    }

    /// A snapshot that may be trusted at `now`.
    async fn trusted(&self, now: Timestamp) -> Result<Arc<Snapshot>, StoreError> {
        let snapshot = self.snapshot();
        if snapshot.is_younger_than(SOFT_AGE, now) {
            return Ok(snapshot);
        }
        if !snapshot.is_younger_than(HARD_AGE, now) {
            return self.reload(now).await;
        }
        if self.reloading.swap(true, Ordering::Acquire) {
            return Ok(snapshot);
        }
        let turn = Turn(&self.reloading);
        let reloaded = self.reload(now).await;
        drop(turn);
        // The next request tries again. Until then the cache is used unless it is too old; the failure
        // may have taken long.
        let now = self.clock.now();
        reloaded.or_else(|error| {
            if snapshot.is_younger_than(HARD_AGE, now) { Ok(snapshot) } else { Err(error) }
        })
    }

    async fn reload(&self, now: Timestamp) -> Result<Arc<Snapshot>, StoreError> {
        let live = self.keys.live(now).await?;
        let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Snapshot::taken(now, live, &current));
        Ok(Arc::clone(&current))
    }
}

/// A key that a client presents, and when.
struct Presented<'a> {
    secret: &'a ApiKeySecret,
    digest: KeyDigest,
    at: Timestamp,
}

impl Presented<'_> {
    fn admission(&self, snapshot: &Snapshot) -> Admission {
        snapshot.admission(self.secret, &self.digest, self.at)
    }

    /// What `snapshot` says of the key; `None` if it is unknown and may have been made since.
    fn verdict(&self, snapshot: &Snapshot) -> Option<Admission> {
        match self.admission(snapshot) {
            Admission::Unknown if !snapshot.is_younger_than(MISS_AGE, self.at) => None,
            known @ (Admission::Granted | Admission::Expired | Admission::Unknown) => Some(known),
        }
    }
}

#[async_trait]
impl Authenticator for KeyRing {
    async fn authenticate(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        let digest = secret.digest();
        if self.service_key.as_ref().is_some_and(|key| key.is(&digest)) {
            return Ok(Caller { digest });
        }
        let key = Presented { secret, digest, at: self.clock.now() };
        let admission = match self.known(&key) {
            Some(admission) => admission,
            // A store holds no key of another form.
            None if !secret.is_well_formed() => Admission::Unknown,
            None => self.look_up(&key).await?,
        };
        match admission {
            Admission::Granted => Ok(Caller { digest }),
            Admission::Expired | Admission::Unknown => Err(AuthenticationError::Refused),
        }
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").finish_non_exhaustive()
    }
}

/// The right to reload the keys. It is released even if the request that holds it is dropped.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
