//! The use case of authentication: the API keys of a [`KeyStore`] in memory.
//!
//! A check of a key never waits. The owner of the ring [refreshes](KeyRing::refresh) it, one refresh at a time,
//! and passes the age of the last refresh to each check.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    access::{
        authenticator::{Caller, KeyLabel, NamedKey},
        key::{ApiKey, KeyId, KeyState},
        key_store::{KeyChanges, KeyMark, KeyRow, KeyStore, MAX_KEYS_PER_SAVE},
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
    /// The state of the store as of the last refresh; `None` before the first one.
    mark: Mutex<Option<KeyMark>>,
    snapshot: RwLock<Arc<Snapshot>>,
}

/// The outcome of checking a key that a client presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyCheck {
    /// The key is live.
    Granted(Caller),
    /// The text does not have the form of a key.
    Malformed,
    /// The key is unknown (`None`), or revoked or expired, with its label.
    NotLive(Option<KeyLabel>),
    /// The last refresh is older than [`KeyRing::MAX_AGE`].
    Stale,
}

/// A revoked key that clients still present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedUse {
    /// The identifier of the key.
    pub id: KeyId,
    /// The name of the key.
    pub name: KeyName,
    /// The number of refused requests since the call before.
    pub uses: u64,
}

/// Every key as of the last refresh, live or not.
#[derive(Clone, Default)]
struct Snapshot {
    keys: HeldKeys,
    /// The rows that break a rule.
    corrupt: Vec<Corruption>,
}

type HeldKeys = HashMap<KeyDigest, HeldKey, BuildHasherDefault<DigestHasher>>;

/// Hashes a digest to its last eight bytes, which are as random as the whole.
#[derive(Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk() {
            self.0 = u64::from_ne_bytes(*last);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Clone)]
struct HeldKey {
    key: ApiKey,
    /// See [`KeyChanges::rows`].
    stamp: u64,
    /// Shared with the snapshots before and after this one.
    uses: Arc<Uses>,
}

struct Uses {
    last: AtomicI64,
    written: AtomicI64,
    /// The number of refused requests with this key.
    refused: AtomicU64,
}

impl KeyRing {
    /// The largest age of keys that are trusted: in older keys, a revoked key may look live. The age counts from the
    /// beginning of a refresh.
    pub const MAX_AGE: Duration = Duration::from_secs(1);

    /// Makes a ring for the keys of `keys`, which are unknown before the first refresh, and the service key.
    #[must_use]
    pub fn new(
        keys: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        service_key: Option<ServiceKey>,
    ) -> Self {
        Self { keys, clock, service_key, mark: Mutex::default(), snapshot: RwLock::default() }
    }

    /// Loads the keys that have changed; all keys if some were removed. Keeps the uses that are not written back yet.
    ///
    /// # Errors
    /// [`StoreError`]; the keys stay as they were.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let known = *self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = self.keys.load_changes(known).await?;
        let mut mark = changes.mark;
        if known.is_none_or(|known| known.revision != mark.revision) {
            let before = self.snapshot();
            let has_all = changes.sum_of_rows() == changes.sum;
            let replaced = if has_all { None } else { before.replaced_by(&changes) };
            if let Some(replaced) = replaced {
                drop(before);
                let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
                // Clones the snapshot only if another thread still has it.
                let current = Arc::make_mut(&mut current);
                let old = replaced.iter().filter_map(|digest| current.keys.remove_entry(digest));
                let old = old.collect();
                current.insert(changes.rows, &old);
            } else {
                if !has_all {
                    changes = self.keys.load_changes(None).await?;
                    mark = changes.mark;
                }
                let mut snapshot = Snapshot::default();
                snapshot.insert(changes.rows, &before.keys);
                let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(snapshot);
            }
        }
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
        Ok(())
    }

    /// Checks a key against the keys of the last refresh, which began `age` ago (`None` before the first refresh). Notes
    /// the use of a granted key.
    pub fn check(&self, secret: &ApiKeySecret, age: Option<Duration>) -> KeyCheck {
        let digest = secret.digest();
        if self.service_key.as_ref().is_some_and(|key| key.is(&digest)) {
            return KeyCheck::Granted(Caller { digest, rights: KeyRights::Full });
        }
        if !secret.is_well_formed() {
            return KeyCheck::Malformed;
        }
        if age.is_none_or(|age| age > Self::MAX_AGE) {
            return KeyCheck::Stale;
        }
        // The common path of a request: only the lock is shared with other threads.
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        let Some(HeldKey { key, uses, .. }) = snapshot.keys.get(&digest) else {
            return KeyCheck::NotLive(None);
        };
        let now = self.clock.now();
        match key.state(now) {
            KeyState::Live => {
                uses.note(now);
                KeyCheck::Granted(Caller { digest, rights: key.rights })
            }
            KeyState::Expired | KeyState::Revoked => {
                KeyCheck::NotLive(Some(KeyLabel::Stored(key.name.clone())))
            }
        }
    }

    /// Returns the label of the caller's key; `None` if the store no longer holds the key.
    pub fn key_label(&self, caller: &Caller) -> Option<KeyLabel> {
        if self.service_key.as_ref().is_some_and(|key| key.is(&caller.digest)) {
            return Some(KeyLabel::Service);
        }
        let snapshot = self.snapshot();
        snapshot.keys.get(&caller.digest).map(|held| KeyLabel::Stored(held.key.name.clone()))
    }

    /// Returns the number of live stored keys.
    pub fn live_keys(&self) -> usize {
        let (snapshot, now) = (self.snapshot(), self.clock.now());
        snapshot.keys.values().filter(|held| held.key.state(now) == KeyState::Live).count()
    }

    /// Returns the live keys as of the last refresh, the newest last, then the service key.
    pub fn named_keys(&self) -> Vec<NamedKey> {
        let (snapshot, now) = (self.snapshot(), self.clock.now());
        let live = snapshot.keys.values().filter(|held| held.key.state(now) == KeyState::Live);
        let mut live: Vec<_> = live.collect();
        live.sort_unstable_by_key(|held| held.key.id);
        let stored = live.into_iter().map(|HeldKey { key, .. }| NamedKey {
            label: KeyLabel::Stored(key.name.clone()),
            expires_at: key.expires_at,
        });
        let own = NamedKey { label: KeyLabel::Service, expires_at: None };
        stored.chain(self.service_key.as_ref().map(|_| own)).collect()
    }

    /// Writes the last uses of keys to the store, each live key at most once a minute.
    ///
    /// # Errors
    /// [`StoreError`]; the next call retries.
    pub async fn write_back_uses(&self) -> Result<(), StoreError> {
        let (snapshot, now) = (self.snapshot(), self.clock.now());
        let due = snapshot.keys.values().filter_map(|HeldKey { key, uses, .. }| {
            Some((key.id, (&uses.written, uses.due(key.state(now) == KeyState::Live)?)))
        });
        let due: Vec<(KeyId, (&AtomicI64, Timestamp))> = due.collect();
        for some in due.chunks(MAX_KEYS_PER_SAVE) {
            let uses = some.iter().map(|&(id, (_, at))| (id, at)).collect();
            self.keys.note_uses(uses).await?;
            for (_, (written, Timestamp(at))) in some {
                written.store(*at, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Counts a request that was refused because its key is not live.
    pub fn note_refusal(&self, secret: &ApiKeySecret) {
        if let Some(held) = self.snapshot().keys.get(&secret.digest()) {
            held.uses.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the revoked keys with refused requests since the last call.
    pub fn take_revoked_uses(&self) -> Vec<RevokedUse> {
        let snapshot = self.snapshot();
        let revoked = snapshot.keys.values().filter(|held| held.key.revoked_at.is_some());
        let used = revoked.filter_map(|HeldKey { key, uses, .. }| {
            let uses = uses.refused.swap(0, Ordering::Relaxed);
            (uses > 0).then(|| RevokedUse { id: key.id, name: key.name.clone(), uses })
        });
        used.collect()
    }

    /// Returns the rows that break a rule, as of the last refresh.
    pub fn corruptions(&self) -> Vec<Corruption> {
        self.snapshot().corrupt.clone()
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Snapshot {
    /// Returns the keys that `changes` replaces; `None` if they and the other keys are not all rows of the store. After a
    /// corrupt row, they are not.
    fn replaced_by(&self, changes: &KeyChanges) -> Option<Vec<KeyDigest>> {
        let ids = changes.rows.iter().filter_map(|(row, _)| match row {
            Ok(key) => Some(key.id),
            Err(corrupt) => corrupt.id,
        });
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        let (mut replaced, mut sum) = (Vec::new(), changes.sum_of_rows());
        for (digest, held) in &self.keys {
            if ids.binary_search(&held.key.id).is_ok() {
                replaced.push(*digest);
            } else {
                sum = sum.wrapping_add(held.stamp);
            }
        }
        (sum == changes.sum).then_some(replaced)
    }

    /// Adds rows. A key that is in `before` keeps its uses.
    fn insert(&mut self, rows: Vec<KeyRow>, before: &HeldKeys) {
        for (row, stamp) in rows {
            match row {
                Ok(key) => {
                    let known = before.get(&key.digest).map(|known| Arc::clone(&known.uses));
                    let uses =
                        known.unwrap_or_else(|| Arc::new(Uses::written_at(key.last_used_at)));
                    self.keys.insert(key.digest, HeldKey { key, stamp, uses });
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
