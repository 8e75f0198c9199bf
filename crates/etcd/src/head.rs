//! The head: the one entry that every write compares and replaces. The head holds the schema version, the store's
//! identity and state, the version of the catalogue, the revision of the API keys, the highest identifiers, and the
//! names of the last transactions.

use petstore_domain::{
    CatalogueVersion, Corruption, KeyRevision, PetId, Phase, StoreError, StoreId, StoreState,
};
use petstore_storage::{Step, StoredVersion};
use serde::{Deserialize, Serialize};

use crate::kv::{Compare, KeyValue, TxnAnswer};

/// The schema version that this release creates and upgrades to.
pub(crate) const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// The schema versions. The steps have no SQL; [`upgrade`](crate::schema::upgrade) has the code of each step.
pub(crate) const STEPS: [Step; 2] = [
    Step::new(1, 1, "the entries of petstore 1.2.0", ""),
    Step::new(2, 2, "list idempotency records by their animals; refuse older releases", "")
        .since("2.0.0"),
];

/// The number of transactions that the head remembers. After a lost answer, the head shows whether the transaction was
/// committed, unless more transactions than this number followed.
const RECENT: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The schema version.
    pub(crate) schema: i64,
    /// The schema version that a release must know to use the store.
    pub(crate) oldest: i64,
    /// The first release that knows version `oldest`.
    pub(crate) oldest_release: String,
    pub(crate) identity: u128,
    revision: i64,
    /// See [`StoreState::rewrites`].
    pub(crate) rewrites: i64,
    /// The first of the three [parts](Phase::parts) of the phase.
    phase: String,
    other: Option<u128>,
    label: Option<String>,
    /// The catalogue's version: random, because a restored etcd reuses revisions.
    pub(crate) version: u128,
    /// The highest identifier that an animal ever had.
    pub(crate) last_pet: i64,
    pub(crate) key_revision: u128,
    /// The highest identifier that a key ever had.
    pub(crate) last_key: i64,
    /// The names of the last transactions, the newest last.
    recent: Vec<u64>,
}

impl Head {
    /// Returns the head of a new store.
    pub(crate) fn new() -> Result<Self, StoreError> {
        let newest = &STEPS[STEPS.len() - 1];
        Ok(Self {
            schema: newest.version,
            oldest: newest.oldest,
            oldest_release: newest.oldest_release.to_owned(),
            identity: random()?,
            phase: "open".to_owned(),
            version: random()?,
            key_revision: random()?,
            ..Self::default()
        })
    }

    pub(crate) fn state(&self) -> Result<StoreState, Corruption> {
        let store = |id: u128| StoreId(id.to_be_bytes());
        let phase = Phase::from_parts(&self.phase, self.other.map(store), self.label.clone())?;
        let (id, revision, rewrites) = (store(self.identity), self.revision, self.rewrites);
        Ok(StoreState { id, revision, rewrites, phase })
    }

    /// Sets identity, revision and phase.
    pub(crate) fn set_state(&mut self, state: &StoreState) {
        let (word, other, label) = state.phase.parts();
        self.identity = u128::from_be_bytes(state.id.0);
        self.revision = state.revision;
        word.clone_into(&mut self.phase);
        self.other = other.map(|id| u128::from_be_bytes(id.0));
        self.label = label.map(str::to_owned);
    }

    /// Returns the version for a read of animals, which is `None` in a sealed store. Fails if the state does not permit
    /// reads.
    pub(crate) fn permit_read(
        &self,
        while_sealed: bool,
    ) -> Result<Option<CatalogueVersion>, StoreError> {
        let has_version = self.state()?.permit_read(while_sealed)?;
        Ok(has_version.then_some(CatalogueVersion(self.version)))
    }

    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(self.key_revision)
    }

    /// Assigns the next identifier of an animal.
    pub(crate) fn next_pet(&mut self) -> Result<PetId, StoreError> {
        let none = || StoreError::refused("no identifier is left");
        self.last_pet = self.last_pet.checked_add(1).ok_or_else(none)?;
        Ok(PetId(self.last_pet))
    }

    /// Adds the name of the transaction that is being written.
    pub(crate) fn note_group(&mut self, group: u64) {
        self.recent.push(group);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
    }

    /// Returns whether this head remembers the transaction that wrote `earlier`.
    pub(crate) fn remembers(&self, earlier: &Self) -> bool {
        earlier.recent.last().is_some_and(|group| self.recent.contains(group))
    }
}

pub(crate) fn random() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    let failed = |error| StoreError::unavailable(format!("no random bytes: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(u128::from_be_bytes(bytes))
}

/// The head at one revision of etcd, with other entries at the same revision.
#[derive(Clone, Debug)]
pub(crate) struct HeadRead {
    pub(crate) head: Head,
    /// The stored head, which a write compares.
    pub(crate) entry: KeyValue,
    /// The revision that was read.
    pub(crate) revision: i64,
    /// The other entries, in the order of the ranges.
    pub(crate) found: Vec<KeyValue>,
}

impl HeadRead {
    /// Reads the results of a transaction's ranges, the first of which is the head. Returns `None` if there is no head.
    pub(crate) fn new(answer: TxnAnswer) -> Result<Option<Self>, Corruption> {
        let revision = answer.header.revision;
        let mut found = answer.found();
        let Some(entry) = found.next().and_then(|mut entries| entries.pop()) else {
            return Ok(None);
        };
        let head = serde_json::from_slice(&entry.value.0);
        let head = head.map_err(|error| Corruption::new("the head of the store", error))?;
        Ok(Some(Self { head, entry, revision, found: found.flatten().collect() }))
    }

    /// Returns whether the head remembers every transaction since `earlier`.
    pub(crate) fn remembers_since(&self, earlier: &Self) -> bool {
        let writes = self.entry.version - earlier.entry.version;
        usize::try_from(writes).is_ok_and(|writes| writes <= RECENT)
    }

    /// Returns the condition that the head is unchanged.
    pub(crate) fn is_unchanged(&self) -> Compare {
        let KeyValue { key, value, .. } = self.entry.clone();
        Compare::Value { key, value }
    }

    pub(crate) fn stored_version(&self) -> StoredVersion {
        let version = (self.head.phase == "open").then_some(CatalogueVersion(self.head.version));
        StoredVersion { version, changes: self.entry.mod_revision }
    }
}
