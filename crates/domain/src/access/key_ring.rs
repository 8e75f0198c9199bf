//! The use case of authentication: [`Authenticator`] over [`KeyStore`] and [`Clock`].

mod refresh;
mod refused;
mod snapshot;

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
#[cfg(test)]
#[cfg(not(feature = "schedules"))]
mod tests;

use std::{
    fmt,
    sync::{Arc, PoisonError},
    time::Duration,
};

use async_trait::async_trait;

use self::{
    refresh::Refresh,
    refused::RefusedKeys,
    snapshot::{Admission, Snapshot},
};
use crate::{
    access::{
        authenticator::{AuthenticationError, Authenticator, Caller, KeyLabel},
        key::{ApiKey, KeyId},
        key_store::{KeyStore, load_keys},
        name::KeyName,
        rights::KeyRights,
        secret::{ApiKeySecret, KeyDigest},
        service_key::ServiceKey,
    },
    clock::Clock,
    error::{Corruption, StoreError},
    sync::RwLock,
    timestamp::Timestamp,
};

/// A cache of the live API keys, reloaded from the store before it is a second old.
///
/// No task runs in the background: the request that finds the keys half a second old reads them
/// again while the others use what is known, and no request uses keys older than a second. So a
/// revoked key is refused within that second, and an idle service does nothing.
///
/// One read is in flight at a time, however many requests wait for it. Unknown keys are refused by
/// what is known. They cause a read no more often than every 100 ms, and no more often than a tenth of
/// the time is spent on reading: requests with made-up keys cannot keep the store busy.
pub struct KeyRing {
    keys: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    service_key: Option<ServiceKey>,
    /// Shared with the read in flight.
    snapshot: Arc<RwLock<Arc<Snapshot>>>,
    refresh: Refresh<Arc<Snapshot>>,
    refused: RefusedKeys,
}

/// A revoked key that clients still present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedUse {
    /// Its identifier.
    pub id: KeyId,
    /// What it was called.
    pub name: KeyName,
    /// How often it was presented since the look before.
    pub uses: u64,
}

/// From this age on, one request reads the keys again.
const SOFT_AGE: Duration = Duration::from_millis(500);
/// Beyond this age, keys are not trusted: a revoked one might be among them.
const HARD_AGE: Duration = Duration::from_secs(1);
/// Up to this age, an unknown key is refused without reading the keys again: it may have been made
/// since, but not long ago.
const MISS_AGE: Duration = Duration::from_millis(100);
/// Unknown keys spend at most one part of so many of the time on reading the keys.
const MISS_SHARE: u32 = 10;
/// The uses of a key are written back no more often than this.
const WRITE_BACK_AGE: Duration = Duration::from_mins(1);

impl KeyRing {
    /// The keys that `keys` keeps, and `service_key` besides.
    #[must_use]
    pub fn new(
        keys: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        service_key: Option<ServiceKey>,
    ) -> Self {
        let snapshot = Arc::new(RwLock::new(Arc::new(Snapshot::never())));
        let (refresh, refused) = (Refresh::default(), RefusedKeys::default());
        Self { keys, clock, service_key, snapshot, refresh, refused }
    }

    /// Writes back when keys were last used, each at most once a minute.
    ///
    /// # Errors
    /// [`StoreError`]; the next call tries again.
    pub async fn write_back_uses(&self) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let due = snapshot.uses_due(self.clock.now(), WRITE_BACK_AGE);
        if !due.is_empty() {
            self.keys.note_uses(due.clone()).await?;
            snapshot.uses_written(&due);
        }
        Ok(())
    }

    /// The revoked keys that were presented since the last call. The store is read only if a well-formed key
    /// was refused meanwhile.
    ///
    /// # Errors
    /// [`StoreError`]; the next call tries again.
    pub async fn take_revoked_uses(&self) -> Result<Vec<RevokedUse>, StoreError> {
        let refused = self.refused.take();
        if refused.is_empty() {
            return Ok(Vec::new());
        }
        let stored = match load_keys(&*self.keys).await {
            Ok(stored) => stored,
            Err(error) => {
                self.refused.put_back(refused);
                return Err(error);
            }
        };
        let revoked = stored.keys.into_iter().filter(|key| key.revoked_at.is_some());
        let used = revoked.filter_map(|ApiKey { id, name, digest, .. }| {
            refused.get(&digest).map(|uses| RevokedUse { id, name, uses: *uses })
        });
        Ok(used.collect())
    }

    /// The rows among the live keys that could not be read, as of the last read.
    pub fn corruptions(&self) -> Vec<Corruption> {
        self.snapshot().corrupt().to_vec()
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
            None => Ok(key.admission(&*self.newer_than(&snapshot, key.at).await?)),
        }
    }

    /// A snapshot that may be trusted at `now`.
    async fn trusted(&self, now: Timestamp) -> Result<Arc<Snapshot>, StoreError> {
        let snapshot = self.snapshot();
        if snapshot.is_younger_than(SOFT_AGE, now) {
            return Ok(snapshot);
        }
        if snapshot.is_younger_than(HARD_AGE, now) {
            if self.refresh.is_in_flight() {
                return Ok(snapshot);
            }
            return self.newer_than(&snapshot, now).await;
        }
        // The read in flight may have begun too long ago. The one after it begins after `now`.
        let read = self.read().await?;
        if read.was_trusted_at(HARD_AGE, now) { Ok(read) } else { self.read().await }
    }

    /// The keys read again; `snapshot` if that fails and it may still be trusted.
    async fn newer_than(
        &self,
        snapshot: &Arc<Snapshot>,
        at: Timestamp,
    ) -> Result<Arc<Snapshot>, StoreError> {
        self.read().await.or_else(|error| {
            // What failed is tried again by the next request. Failing may have taken long.
            let now = self.clock.now().max(at);
            if snapshot.is_younger_than(HARD_AGE, now) {
                Ok(Arc::clone(snapshot))
            } else {
                Err(error)
            }
        })
    }

    /// Reads the keys, or waits for the read that is in flight.
    async fn read(&self) -> Result<Arc<Snapshot>, StoreError> {
        self.refresh
            .join(|| {
                let (keys, clock) = (Arc::clone(&self.keys), Arc::clone(&self.clock));
                let snapshot = Arc::clone(&self.snapshot);
                async move {
                    let began = clock.now();
                    let stored = load_keys(&*keys).await?;
                    let took = clock.now().since(began).unwrap_or_default();
                    let mut current = snapshot.write().unwrap_or_else(PoisonError::into_inner);
                    *current = Arc::new(Snapshot::new(began, took, stored, &current));
                    Ok(Arc::clone(&current))
                }
            })
            .await
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
            Admission::Unknown if !snapshot.is_younger_than(miss_age(snapshot), self.at) => None,
            known @ (Admission::Granted(_) | Admission::Expired | Admission::Unknown) => {
                Some(known)
            }
        }
    }
}

/// From this age of `snapshot` on, an unknown key is looked for once more.
fn miss_age(snapshot: &Snapshot) -> Duration {
    (snapshot.took() * MISS_SHARE).clamp(MISS_AGE, SOFT_AGE)
}

#[async_trait]
impl Authenticator for KeyRing {
    async fn authenticate(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        let digest = secret.digest();
        if self.service_key.as_ref().is_some_and(|key| key.is(&digest)) {
            return Ok(Caller { digest, rights: KeyRights::Full });
        }
        let key = Presented { secret, digest, at: self.clock.now() };
        let admission = match self.known(&key) {
            Some(admission) => admission,
            // A store holds no key of another form.
            None if !secret.is_well_formed() => Admission::Unknown,
            None => self.look_up(&key).await?,
        };
        match admission {
            Admission::Granted(rights) => Ok(Caller { digest, rights }),
            Admission::Expired | Admission::Unknown => {
                if secret.is_well_formed() {
                    self.refused.note(digest);
                }
                Err(AuthenticationError::Refused)
            }
        }
    }

    fn key_label(&self, caller: &Caller) -> Option<KeyLabel> {
        if self.service_key.as_ref().is_some_and(|key| key.is(&caller.digest)) {
            return Some(KeyLabel::Service);
        }
        self.snapshot().name(&caller.digest).cloned().map(KeyLabel::Stored)
    }

    async fn live_keys(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        Ok(self.trusted(now).await?.live_at(now))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").finish_non_exhaustive()
    }
}
