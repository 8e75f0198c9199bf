//! The one entry that every write compares and replaces: what the store is, its state, the catalogue's version, and
//! which identifiers come next.

use petstore_domain::{
    CatalogueVersion, Corruption, KeyRevision, PetId, Phase, StoreError, StoreId, StoreState,
    Writer,
};
use petstore_storage::{SchemaError, StoredVersion};
use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    kv::{Bytes, Compare, KeyValue},
};

/// The version of the schema that this release makes.
pub(crate) const SCHEMA: i64 = 1;
/// How many groups of writes the head remembers: so many writes of others may come between a try whose answer was lost
/// and the next one.
const RECENT: usize = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The version of the schema, the oldest that it can be used as, and the first release that knows that one.
    pub(crate) schema: i64,
    oldest: i64,
    oldest_release: String,
    pub(crate) identity: u128,
    revision: i64,
    /// See [`StoreState::rewrites`].
    pub(crate) rewrites: i64,
    phase: String,
    other: Option<u128>,
    label: Option<String>,
    /// Random: a store that was restored takes etcd's revisions back.
    version: u128,
    /// At or above the identifier of every animal.
    pub(crate) last_pet: i64,
    key_revision: u128,
    /// At or above the identifier of every key there ever was.
    pub(crate) last_key: i64,
    /// The last groups that were written, the newest last.
    recent: Vec<u64>,
}

impl Head {
    /// Makes the head of a new store.
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            schema: SCHEMA,
            oldest: SCHEMA,
            oldest_release: env!("CARGO_PKG_VERSION").to_owned(),
            identity: random()?,
            revision: 0,
            rewrites: 0,
            phase: "open".to_owned(),
            other: None,
            label: None,
            version: random()?,
            last_pet: 0,
            key_revision: random()?,
            last_key: 0,
            recent: Vec::new(),
        })
    }

    /// Refuses a store that a newer release has made.
    pub(crate) fn require_known(&self) -> Result<(), SchemaError> {
        if self.oldest <= SCHEMA {
            return Ok(());
        }
        let release = format!("{} or newer", self.oldest_release);
        Err(SchemaError::TooNew { oldest: self.oldest, known: SCHEMA, release })
    }

    pub(crate) fn state(&self) -> Result<StoreState, Corruption> {
        let store = |id: u128| StoreId(id.to_be_bytes());
        let phase = Phase::from_parts(&self.phase, self.other.map(store), self.label.clone());
        let wrong = || Corruption::new("the state of the store", "it is open, filling or sealed");
        let (id, revision, rewrites) = (store(self.identity), self.revision, self.rewrites);
        Ok(StoreState { id, revision, rewrites, phase: phase.ok_or_else(wrong)? })
    }

    /// Takes identity, revision and phase of `state`.
    pub(crate) fn set_state(&mut self, state: &StoreState) {
        let (word, other, label) = state.phase.parts();
        self.identity = u128::from_be_bytes(state.id.0);
        self.revision = state.revision;
        word.clone_into(&mut self.phase);
        self.other = other.map(|id| u128::from_be_bytes(id.0));
        self.label = label.map(str::to_owned);
    }

    /// Refuses a writer that the state does not permit.
    pub(crate) fn permit(&self, writer: Writer) -> Result<(), Failure> {
        let refusal = self.state()?.permit(writer);
        refusal.map_err(|error| match error {
            StoreError::Sealed(why) => Failure::Sealed(why),
            StoreError::Unavailable(_) | StoreError::Refused(_) | StoreError::Corrupt(_) => {
                Failure::Refused(error.to_string())
            }
        })
    }

    /// Returns the version to give with a read, or why animals are not read.
    pub(crate) fn permit_read(
        &self,
        while_sealed: bool,
    ) -> Result<Option<CatalogueVersion>, Failure> {
        match self.permit(Writer::Service) {
            Err(_) if while_sealed && self.phase == "sealed" => Ok(None),
            permitted => permitted.map(|()| self.version()),
        }
    }

    /// Returns the version, or `None` if the store is not open.
    fn version(&self) -> Option<CatalogueVersion> {
        (self.phase == "open").then_some(CatalogueVersion(self.version))
    }

    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(self.key_revision)
    }

    /// Gives the catalogue another version: animals have changed.
    pub(crate) fn renew(&mut self) -> Result<(), Failure> {
        self.version = random()?;
        Ok(())
    }

    /// Gives the keys another revision.
    pub(crate) fn renew_keys(&mut self) -> Result<(), Failure> {
        self.key_revision = random()?;
        Ok(())
    }

    /// Assigns the next identifier.
    pub(crate) fn next_pet(&mut self) -> Result<PetId, Failure> {
        self.last_pet = self.last_pet.checked_add(1).ok_or(Failure::NoIdentifier)?;
        Ok(PetId(self.last_pet))
    }

    /// Notes the group that is being written.
    pub(crate) fn note_group(&mut self, group: u64) {
        self.recent.push(group);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
    }

    pub(crate) fn has_group(&self, group: u64) -> bool {
        self.recent.contains(&group)
    }
}

fn random() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(u128::from_be_bytes(bytes))
}

/// The head as it was at one revision, and what else was read there.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) head: Head,
    /// As it is stored: a write compares it.
    pub(crate) raw: Vec<u8>,
    /// How often the head was written.
    pub(crate) writes: i64,
    /// The revision of the head's last change.
    pub(crate) changed: i64,
    /// The revision at which it was read.
    pub(crate) revision: i64,
    /// What each range found.
    pub(crate) found: Vec<Vec<KeyValue>>,
}

impl View {
    /// Reads what a transaction has found: the head first. `None` without a head.
    pub(crate) fn new(
        revision: i64,
        mut found: impl Iterator<Item = Vec<KeyValue>>,
    ) -> Result<Option<Self>, Corruption> {
        let Some(entry) = found.next().and_then(|mut entries| entries.pop()) else {
            return Ok(None);
        };
        let KeyValue { value: Bytes(raw), version: writes, mod_revision: changed, .. } = entry;
        let head = serde_json::from_slice(&raw);
        let head = head.map_err(|error| Corruption::new("the head of the store", error))?;
        Ok(Some(Self { head, raw, writes, changed, revision, found: found.collect() }))
    }

    /// Returns whether the head remembers all that was written since `earlier`.
    pub(crate) fn remembers_since(&self, earlier: &Self) -> bool {
        usize::try_from(self.writes - earlier.writes).is_ok_and(|writes| writes <= RECENT)
    }

    /// The comparison of the head with this one.
    pub(crate) fn comparison(&self, key: &str) -> Compare {
        Compare::Value { key: key.into(), value: Bytes(self.raw.clone()) }
    }

    pub(crate) fn stored_version(&self) -> StoredVersion {
        StoredVersion { version: self.head.version(), changes: self.changed }
    }
}
