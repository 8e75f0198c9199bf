//! The use case of authentication: the API keys of a [`KeyStore`] in memory.
//!
//! A check of a key never waits. The owner of the ring [refreshes](KeyRing::refresh) it, one refresh at a time,
//! and passes the age of the last refresh to each check.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    access::{
        authenticator::{AuthenticationError, Caller, KeyLabel, NamedKey},
        key::{ApiKey, KeyId, KeyState},
        key_store::{KeyChanges, KeyMark, KeyStore, MAX_KEYS_PER_SAVE},
        name::KeyName,
        secret::{ApiKeySecret, KeyDigest, KeyRights},
        service_key::ServiceKey,
    },
    clock::Clock,
    error::{Corruption, StoreError},
    timestamp::Timestamp,
};

/// The smallest interval between two uses of a live key that are written back.
const WRITE_BACK_MILLIS: i64 = 60_000;
/// The smallest interval between two uses that are noted in memory, so that processors do not contend for a
/// busy key.
const NOTE_MILLIS: i64 = 1000;
/// The last use of a key that was never used: before every real time.
const NEVER: i64 = i64::MIN;

/// The API keys as of the last refresh.
pub struct KeyRing {
    keys: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    service_key: Option<ServiceKey>,
    held: RwLock<Arc<HeldKeys>>,
}

/// A revoked key that clients still present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedUse {
    /// The identifier of the key.
    pub id: KeyId,
    /// The name of the key.
    pub name: KeyName,
    /// The number of refused requests since the last call of [`KeyRing::take_revoked_uses`].
    pub uses: u64,
}

/// Every key as of the last refresh, live or not.
#[derive(Default)]
struct HeldKeys {
    /// Identifies the state of the store's keys; `None` before the first refresh.
    mark: Option<KeyMark>,
    keys: BTreeMap<KeyDigest, Arc<HeldKey>>,
    /// The rows that break a rule.
    corrupt: Vec<Corruption>,
}

struct HeldKey {
    key: ApiKey,
    /// See [`KeyChanges::rows`].
    stamp: u64,
    /// Shared with the `HeldKey` of this digest before a refresh, so that a refresh loses no use.
    uses: Arc<Uses>,
}

struct Uses {
    last: AtomicI64,
    written: AtomicI64,
    /// The number of refused requests since the last call of [`KeyRing::take_revoked_uses`].
    refused: AtomicU64,
}

impl KeyRing {
    /// The largest age of keys in memory that a check trusts. So a revoked key is accepted for at most this time. The
    /// age counts from the start of a refresh.
    pub const MAX_AGE: Duration = Duration::from_secs(1);

    /// Makes a ring for the keys of `keys`, which are unknown before the first refresh, and the service key.
    #[must_use]
    pub fn new(
        keys: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        service_key: Option<ServiceKey>,
    ) -> Self {
        Self { keys, clock, service_key, held: RwLock::default() }
    }

    /// Loads the changed keys, or all keys if the changes are not enough, for example after a removal. Keeps the uses
    /// that are not written back yet.
    ///
    /// # Errors
    /// [`StoreError`]; the keys stay as they were.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let before = self.held();
        let mut changes = self.keys.load_changes(before.mark).await?;
        if before.mark.is_some_and(|known| known.revision == changes.mark.revision) {
            return Ok(());
        }
        let unchanged = before.unchanged_by(&changes);
        if unchanged.is_none() {
            changes = self.keys.load_changes(None).await?;
        }
        let mut held = unchanged.unwrap_or_default();
        held.insert(changes, &before);
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(held);
        Ok(())
    }

    /// Checks a key against the service key, and then against the keys of the last refresh, which began `age` ago
    /// (`None` before the first refresh). Returns the caller with this key, and notes the use of a stored key.
    ///
    /// # Errors
    /// - [`AuthenticationError::Refused`] if the key is not live or does not have the form of a key.
    /// - [`AuthenticationError::Store`] if `age` is `None` or above [`KeyRing::MAX_AGE`], and the key has the form.
    pub fn check(
        &self,
        secret: &ApiKeySecret,
        age: Option<Duration>,
    ) -> Result<Caller, AuthenticationError> {
        let refused = |label| Err(AuthenticationError::Refused(label));
        let digest = secret.digest();
        if self.service_key.as_ref().is_some_and(|key| key.is(&digest)) {
            return Ok(Caller { digest, rights: KeyRights::Full });
        }
        if !secret.is_well_formed() {
            return refused(None);
        }
        if age.is_none_or(|age| age > Self::MAX_AGE) {
            return Err(StoreError::unavailable("the API keys in memory are too old").into());
        }
        // The common path of a request: threads contend only for this lock.
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.keys.get(&digest) else { return refused(None) };
        let HeldKey { key, uses, .. } = &**held;
        let now = self.clock.now();
        if key.state(now) != KeyState::Live {
            return refused(Some(KeyLabel::Stored(key.name.clone())));
        }
        uses.note(now);
        Ok(Caller { digest, rights: key.rights })
    }

    /// Returns the label of the caller's key; `None` if the key has been removed or replaced meanwhile.
    pub fn key_label(&self, caller: &Caller) -> Option<KeyLabel> {
        if self.service_key.as_ref().is_some_and(|key| key.is(&caller.digest)) {
            return Some(KeyLabel::Service);
        }
        let label = |held: &Arc<HeldKey>| KeyLabel::Stored(held.key.name.clone());
        self.held().keys.get(&caller.digest).map(label)
    }

    /// Returns the number of live stored keys.
    pub fn live_keys(&self) -> usize {
        self.live().len()
    }

    /// Returns the live keys as of the last refresh, the newest last, then the service key.
    pub fn named_keys(&self) -> Vec<NamedKey> {
        let mut live = self.live();
        live.sort_unstable_by_key(|held| held.key.id);
        let stored = live.into_iter().map(|held| NamedKey {
            label: KeyLabel::Stored(held.key.name.clone()),
            expires_at: held.key.expires_at,
        });
        let own = NamedKey { label: KeyLabel::Service, expires_at: None };
        stored.chain(self.service_key.as_ref().map(|_| own)).collect()
    }

    fn live(&self) -> Vec<Arc<HeldKey>> {
        let (held, now) = (self.held(), self.clock.now());
        held.keys.values().filter(|held| held.key.state(now) == KeyState::Live).cloned().collect()
    }

    /// Writes the last uses of keys to the store: of a live key at most once a minute, of an ended key at once.
    ///
    /// # Errors
    /// [`StoreError`]; the next call retries.
    pub async fn write_back_uses(&self) -> Result<(), StoreError> {
        let (held, now) = (self.held(), self.clock.now());
        let due = held.keys.values().filter_map(|held| {
            let at = held.uses.due(held.key.state(now) == KeyState::Live)?;
            Some((held.key.id, at, &held.uses.written))
        });
        let due: Vec<_> = due.collect();
        for some in due.chunks(MAX_KEYS_PER_SAVE) {
            self.keys.note_uses(some.iter().map(|&(id, at, _)| (id, at)).collect()).await?;
            for (_, at, written) in some {
                written.store(at.0, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Counts a request that was refused because its key is not live.
    pub fn note_refusal(&self, secret: &ApiKeySecret) {
        if let Some(held) = self.held().keys.get(&secret.digest()) {
            held.uses.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the revoked keys with refused requests since the last call.
    pub fn take_revoked_uses(&self) -> Vec<RevokedUse> {
        let held = self.held();
        let revoked = held.keys.values().filter(|held| held.key.revoked_at.is_some());
        let used = revoked.filter_map(|held| {
            let (key, uses) = (&held.key, held.uses.refused.swap(0, Ordering::Relaxed));
            (uses > 0).then(|| RevokedUse { id: key.id, name: key.name.clone(), uses })
        });
        used.collect()
    }

    /// Returns the rows that break a rule, as of the last refresh.
    pub fn corruptions(&self) -> Vec<Corruption> {
        self.held().corrupt.clone()
    }

    fn held(&self) -> Arc<HeldKeys> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HeldKeys {
    /// Returns the held keys that stay beside the rows of `changes`. Returns `None` if these keys and the changed rows
    /// are not exactly the rows of the store. The stamp of a corrupt row is not held. So the result is also `None`
    /// while the store has a corrupt row that is not in `changes`.
    fn unchanged_by(&self, changes: &KeyChanges) -> Option<Self> {
        let sum = changes.sum_of_rows();
        if sum == changes.sum {
            return Some(Self::default());
        }
        let ids = changes.rows.iter().filter_map(|(row, _)| {
            row.as_ref().map_or_else(|corrupt| corrupt.id, |key| Some(key.id))
        });
        let ids: BTreeSet<_> = ids.collect();
        let mut keys = self.keys.clone();
        keys.retain(|_, held| !ids.contains(&held.key.id));
        let sum = keys.values().fold(sum, |sum, held| sum.wrapping_add(held.stamp));
        (sum == changes.sum).then(|| Self { keys, ..Self::default() })
    }

    /// Adds changed rows. A key that is in `before` keeps its uses.
    fn insert(&mut self, changes: KeyChanges, before: &Self) {
        self.mark = Some(changes.mark);
        for (row, stamp) in changes.rows {
            match row {
                Ok(key) => {
                    let known = before.keys.get(&key.digest).map(|known| Arc::clone(&known.uses));
                    let uses =
                        known.unwrap_or_else(|| Arc::new(Uses::written_at(key.last_used_at)));
                    self.keys.insert(key.digest, Arc::new(HeldKey { key, stamp, uses }));
                }
                Err(corrupt) => self.corrupt.push(corrupt.corruption),
            }
        }
    }
}

impl Uses {
    fn written_at(at: Option<Timestamp>) -> Self {
        let at = at.map_or(NEVER, |at| at.0);
        Self { last: AtomicI64::new(at), written: AtomicI64::new(at), refused: AtomicU64::new(0) }
    }

    /// Returns the last use if it must be written back.
    fn due(&self, is_live: bool) -> Option<Timestamp> {
        let [last, written] = [&self.last, &self.written].map(|at| at.load(Ordering::Relaxed));
        let enough = if is_live { WRITE_BACK_MILLIS } else { 1 };
        (last.saturating_sub(written) >= enough).then_some(Timestamp(last))
    }

    fn note(&self, now: Timestamp) {
        if now.0.saturating_sub(self.last.load(Ordering::Relaxed)) >= NOTE_MILLIS {
            self.last.store(now.0, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").finish_non_exhaustive()
    }
}
