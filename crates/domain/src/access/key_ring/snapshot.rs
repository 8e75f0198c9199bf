//! The keys as they were at one moment.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    access::{
        authenticator::{Caller, KeyLabel},
        key::{ApiKey, KeyId, KeyState},
        name::KeyName,
        secret::{ApiKeySecret, KeyDigest},
        stored_keys::{KeyRevision, StoredKeys},
    },
    error::Corruption,
    timestamp::Timestamp,
};

/// What is said of a key that a client presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is live.
    Granted(Caller),
    /// It has not the form of a key, and no store holds one of another form.
    Malformed,
    /// It is not live: unknown, or else revoked or expired, under this label.
    NotLive(Option<KeyLabel>),
    /// The keys are too old to say.
    Stale,
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

/// "Not yet": before every real time.
const NEVER: i64 = i64::MIN;
/// A use is noted in memory only when it is this much later than the one before, so that the
/// processors do not contend for a busy key.
const NOTE_MILLIS: i64 = 1000;

/// Every key, live or not; none before the first refresh.
#[derive(Default)]
pub(super) struct Snapshot {
    revision: Option<KeyRevision>,
    /// Found by comparing: there are few keys, and hashing a digest costs more.
    keys: BTreeMap<KeyDigest, HeldKey>,
    /// The rows that could not be read.
    corrupt: Vec<Corruption>,
}

struct HeldKey {
    key: ApiKey,
    /// Whether it was found to have the form of a key. A digest belongs to one text, so that is checked
    /// once.
    well_formed: AtomicBool,
    /// Shared with the snapshots before and after.
    uses: Arc<Uses>,
}

struct Uses {
    last: AtomicI64,
    written: AtomicI64,
    /// How often it was presented when it was revoked.
    refused: AtomicU64,
}

impl Snapshot {
    /// What the store has answered. Uses not yet written back are taken over from `previous`.
    pub(super) fn new(stored: StoredKeys, previous: &Self) -> Self {
        let StoredKeys { keys, corrupt, revision, .. } = stored;
        let held = keys.into_iter().map(|key| {
            let uses = match previous.keys.get(&key.digest) {
                Some(known) => Arc::clone(&known.uses),
                None => Arc::new(Uses::written_at(key.last_used_at)),
            };
            (key.digest, HeldKey { key, well_formed: AtomicBool::new(false), uses })
        });
        let corrupt = corrupt.into_iter().map(|corrupt| corrupt.corruption).collect();
        Self { revision: Some(revision), keys: held.collect(), corrupt }
    }

    pub(super) fn revision(&self) -> Option<KeyRevision> {
        self.revision
    }

    /// The rows that could not be read.
    pub(super) fn corrupt(&self) -> &[Corruption] {
        &self.corrupt
    }

    /// What the key is called.
    pub(super) fn name(&self, digest: &KeyDigest) -> Option<&KeyName> {
        self.keys.get(digest).map(|held| &held.key.name)
    }

    /// How many keys are live at `now`.
    pub(super) fn live_at(&self, now: Timestamp) -> usize {
        self.keys.values().filter(|held| held.key.state(now) == KeyState::Live).count()
    }

    /// Whether `secret`, whose digest is `digest`, is accepted at `now`; if so, its use is noted.
    pub(super) fn judge(
        &self,
        secret: &ApiKeySecret,
        digest: KeyDigest,
        now: Timestamp,
    ) -> Judgement {
        let Some(held) = self.keys.get(&digest) else {
            let may_be_held = secret.is_well_formed();
            return if may_be_held { Judgement::NotLive(None) } else { Judgement::Malformed };
        };
        if !held.has_form_of(secret) {
            return Judgement::Malformed;
        }
        match held.key.state(now) {
            KeyState::Live => {
                held.uses.note(now);
                Judgement::Granted(Caller { digest, rights: held.key.rights })
            }
            KeyState::Expired | KeyState::Revoked => {
                Judgement::NotLive(Some(KeyLabel::Stored(held.key.name.clone())))
            }
        }
    }

    /// One more refusal of the key of this digest was answered.
    pub(super) fn note_refusal(&self, digest: &KeyDigest) {
        if let Some(held) = self.keys.get(digest) {
            held.uses.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The revoked keys that were refused since the last call.
    pub(super) fn take_revoked_uses(&self) -> Vec<RevokedUse> {
        let revoked = self.keys.values().filter(|held| held.key.revoked_at.is_some());
        let used = revoked.filter_map(|HeldKey { key, uses, .. }| {
            let uses = uses.refused.swap(0, Ordering::Relaxed);
            (uses > 0).then(|| RevokedUse { id: key.id, name: key.name.clone(), uses })
        });
        used.collect()
    }

    /// The keys used since their last use was written, if that was at least `age` ago or the key is
    /// live no more.
    pub(super) fn uses_due(&self, now: Timestamp, age: Duration) -> Vec<(KeyId, Timestamp)> {
        let due = self.keys.values().filter(|HeldKey { key, uses, .. }| {
            key.state(now) != KeyState::Live || uses.was_written_before(now, age)
        });
        due.filter_map(|held| Some((held.key.id, held.uses.unwritten()?))).collect()
    }

    pub(super) fn uses_written(&self, uses: &[(KeyId, Timestamp)]) {
        let written: HashMap<_, _> = uses.iter().copied().collect();
        for HeldKey { key, uses, .. } in self.keys.values() {
            if let Some(at) = written.get(&key.id) {
                uses.written.store(at.0, Ordering::Relaxed);
            }
        }
    }
}

impl HeldKey {
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
        Self { last: AtomicI64::new(at), written: AtomicI64::new(at), refused: AtomicU64::new(0) }
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
