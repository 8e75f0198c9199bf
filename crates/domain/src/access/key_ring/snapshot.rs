//! The live keys as they were at one moment.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use crate::{
    access::{
        key::{ApiKey, KeyId, KeyState},
        name::KeyName,
        rights::KeyRights,
        secret::{ApiKeySecret, KeyDigest},
        stored_keys::StoredKeys,
    },
    error::Corruption,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    timestamp::Timestamp,
};

/// "Not yet": before every real time.
const NEVER: i64 = i64::MIN;
/// A use is noted in memory only when it is this much later than the one before, so that the
/// processors do not contend for a busy key.
const NOTE_MILLIS: i64 = 1000;

pub(super) struct Snapshot {
    taken_at: Option<Timestamp>,
    /// How long reading the keys took.
    took: Duration,
    /// Found by comparing: there are few keys, and hashing a digest costs more.
    live: BTreeMap<KeyDigest, LiveKey>,
    /// Keys that are live no more, whose last use is not written back yet.
    retired: Vec<(KeyId, Arc<Uses>)>,
    /// The rows that could not be read.
    corrupt: Vec<Corruption>,
}

/// Whether a key is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Granted(KeyRights),
    Expired,
    /// The snapshot does not hold the key, or it has not the form of a key.
    Unknown,
}

struct LiveKey {
    id: KeyId,
    name: KeyName,
    rights: KeyRights,
    expires_at: Option<Timestamp>,
    /// Whether it was found to have the form of a key. A digest belongs to one text, so that is checked
    /// once.
    well_formed: AtomicBool,
    /// Shared with the snapshots before and after.
    uses: Arc<Uses>,
}

struct Uses {
    last: AtomicI64,
    written: AtomicI64,
}

impl Snapshot {
    /// Before the keys were read for the first time.
    pub(super) fn never() -> Self {
        Self {
            taken_at: None,
            took: Duration::ZERO,
            live: BTreeMap::new(),
            retired: Vec::new(),
            corrupt: Vec::new(),
        }
    }

    /// What the store answered to a read that began at `taken_at` and took `took`. Uses not yet
    /// written back are taken over from `previous`.
    pub(super) fn new(
        taken_at: Timestamp,
        took: Duration,
        stored: StoredKeys,
        previous: &Self,
    ) -> Self {
        let StoredKeys { keys, corrupt, .. } = stored;
        let corrupt = corrupt.into_iter().map(|corrupt| corrupt.corruption).collect();
        let live: BTreeMap<KeyDigest, LiveKey> = keys
            .into_iter()
            .filter(|key| key.state(taken_at) == KeyState::Live)
            .map(|key| {
                let uses = match previous.live.get(&key.digest) {
                    Some(known) => Arc::clone(&known.uses),
                    None => Arc::new(Uses::written_at(key.last_used_at)),
                };
                let ApiKey { id, name, rights, expires_at, digest, .. } = key;
                let well_formed = AtomicBool::new(false);
                (digest, LiveKey { id, name, rights, expires_at, well_formed, uses })
            })
            .collect();
        let ended = previous.live.iter().filter(|(digest, _)| !live.contains_key(digest));
        let ended = ended.map(|(_, key)| (key.id, Arc::clone(&key.uses)));
        let retired = previous.retired.iter().cloned().chain(ended);
        let retired = retired.filter(|(_, uses)| uses.unwritten().is_some()).collect();
        Self { taken_at: Some(taken_at), took, live, retired, corrupt }
    }

    /// How long reading the keys took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// The rows that could not be read.
    pub(super) fn corrupt(&self) -> &[Corruption] {
        &self.corrupt
    }

    /// What the key is called.
    pub(super) fn name(&self, digest: &KeyDigest) -> Option<&KeyName> {
        self.live.get(digest).map(|key| &key.name)
    }

    /// How many keys are live at `now`.
    pub(super) fn live_at(&self, now: Timestamp) -> usize {
        self.live.values().filter(|key| !key.has_expired(now)).count()
    }

    /// Whether a request that was received at `at` may be answered by this snapshot, which was read
    /// while the request waited: the read began after `at`, or less than `age` before.
    pub(super) fn was_trusted_at(&self, age: Duration, at: Timestamp) -> bool {
        let before = self.taken_at.and_then(|taken_at| at.since(taken_at));
        before.is_none_or(|before| before < age)
    }

    /// A snapshot from the future is of unknown age, so it is not young: the clock was set back.
    pub(super) fn is_younger_than(&self, age: Duration, now: Timestamp) -> bool {
        self.taken_at.and_then(|taken_at| now.since(taken_at)).is_some_and(|own| own < age)
    }

    /// Whether `secret`, whose digest is `digest`, is accepted at `now`; if so, its use is noted.
    pub(super) fn admission(
        &self,
        secret: &ApiKeySecret,
        digest: &KeyDigest,
        now: Timestamp,
    ) -> Admission {
        let Some(key) = self.live.get(digest) else { return Admission::Unknown };
        if !key.has_form_of(secret) {
            return Admission::Unknown;
        }
        if key.has_expired(now) {
            return Admission::Expired;
        }
        key.uses.note(now);
        Admission::Granted(key.rights)
    }

    /// The keys used since their last use was written, if that was at least `age` ago or the key is
    /// live no more.
    pub(super) fn uses_due(&self, now: Timestamp, age: Duration) -> Vec<(KeyId, Timestamp)> {
        let live = self.live.values().filter(|key| key.uses.was_written_before(now, age));
        let live = live.map(|key| (key.id, &key.uses));
        let retired = self.retired.iter().map(|(id, uses)| (*id, uses));
        live.chain(retired).filter_map(|(id, uses)| Some((id, uses.unwritten()?))).collect()
    }

    pub(super) fn uses_written(&self, uses: &[(KeyId, Timestamp)]) {
        let written: HashMap<_, _> = uses.iter().copied().collect();
        let live = self.live.values().map(|key| (key.id, &key.uses));
        for (id, uses) in live.chain(self.retired.iter().map(|(id, uses)| (*id, uses))) {
            if let Some(at) = written.get(&id) {
                uses.written.store(at.0, Ordering::Relaxed);
            }
        }
    }
}

impl LiveKey {
    fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    /// Whether `secret`, which is this key, has the form of one.
    fn has_form_of(&self, secret: &ApiKeySecret) -> bool {
        let known = self.well_formed.load(Ordering::Relaxed);
        if !known && secret.is_well_formed() {
            self.well_formed.store(true, Ordering::Relaxed);
            return true;
        }
        known
    }
}

impl Uses {
    fn written_at(at: Option<Timestamp>) -> Self {
        let at = at.map_or(NEVER, |at| at.0);
        Self { last: AtomicI64::new(at), written: AtomicI64::new(at) }
    }

    /// The last use, if it is not written back yet.
    fn unwritten(&self) -> Option<Timestamp> {
        let last = self.last.load(Ordering::Relaxed);
        (last > self.written.load(Ordering::Relaxed)).then_some(Timestamp(last))
    }

    /// Whether no use was written back within `age`.
    fn was_written_before(&self, now: Timestamp, age: Duration) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        written == NEVER || now.since(Timestamp(written)) >= Some(age)
    }

    fn note(&self, now: Timestamp) {
        if now.0.saturating_sub(self.last.load(Ordering::Relaxed)) >= NOTE_MILLIS {
            self.last.store(now.0, Ordering::Relaxed);
        }
    }
}
