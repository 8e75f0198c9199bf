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
    kv::{Bytes, KeyValue},
    rows::Hex,
};

/// The version of the schema that this release makes.
pub(crate) const SCHEMA: i64 = 1;
/// How many groups of writes the head remembers: so many writes of others may come between a try whose answer was lost
/// and the next one.
const RECENT: usize = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The version of the schema.
    schema: i64,
    /// The oldest version that it can be used as, and the first release that knows that one.
    oldest: i64,
    oldest_release: String,
    identity: Hex<16>,
    revision: i64,
    rewrites: i64,
    phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<Hex<16>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Random: a store that was restored takes etcd's revisions back.
    version: Hex<16>,
    /// At or above the identifier of every animal.
    pub(crate) last_pet: i64,
    key_revision: Hex<16>,
    /// At or above the identifier of every key there ever was.
    pub(crate) last_key: i64,
    /// The last groups that were written, the newest last.
    recent: Vec<Hex<8>>,
}

impl Head {
    /// Makes the head of a new store.
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            schema: SCHEMA,
            oldest: SCHEMA,
            oldest_release: env!("CARGO_PKG_VERSION").to_owned(),
            identity: Hex::random()?,
            revision: 0,
            rewrites: 0,
            phase: "open".to_owned(),
            other: None,
            label: None,
            version: Hex::random()?,
            last_pet: 0,
            key_revision: Hex::random()?,
            last_key: 0,
            recent: Vec::new(),
        })
    }

    pub(crate) fn schema(&self) -> i64 {
        self.schema
    }

    pub(crate) fn identity(&self) -> Hex<16> {
        self.identity
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
        let other = self.other.map(|Hex(id)| StoreId(id));
        let phase = Phase::from_columns(&self.phase, other, self.label.clone());
        let wrong = || Corruption::new("the state of the store", "it is open, filling or sealed");
        let (id, revision, rewrites) = (StoreId(self.identity.0), self.revision, self.rewrites);
        Ok(StoreState { id, revision, rewrites, phase: phase.ok_or_else(wrong)? })
    }

    /// Takes identity, revision and phase of `state`.
    pub(crate) fn set_state(&mut self, state: &StoreState) -> Result<(), Failure> {
        let (word, other, label) = state.phase.columns();
        self.identity = Hex(state.id.0);
        self.revision = state.revision;
        self.phase = word.to_owned();
        self.other = other.map(|id| Hex(id.0));
        self.label = label.map(str::to_owned);
        self.renew()
    }

    /// Refuses a writer that the state does not permit.
    pub(crate) fn permit(&self, writer: Writer) -> Result<(), Failure> {
        self.state()?.permit(writer).map_err(|error| match error {
            StoreError::Sealed(why) => Failure::Sealed(why),
            other => Failure::Refused(other.to_string()),
        })
    }

    /// Returns the version to give with a read, or why animals are not read.
    pub(crate) fn permit_read(
        &self,
        while_sealed: bool,
    ) -> Result<Option<CatalogueVersion>, Failure> {
        let is_sealed = matches!(self.state()?.phase, Phase::Sealed { .. });
        match self.permit(Writer::Service) {
            Err(_) if is_sealed && while_sealed => Ok(None),
            permitted => permitted.map(|()| self.version()),
        }
    }

    /// Returns the version, or `None` if the store is not open.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        let is_open = self.phase == "open";
        is_open.then(|| CatalogueVersion(u128::from_be_bytes(self.version.0)))
    }

    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(u128::from_be_bytes(self.key_revision.0))
    }

    /// Gives the catalogue another version: animals have changed.
    pub(crate) fn renew(&mut self) -> Result<(), Failure> {
        self.version = Hex::random()?;
        Ok(())
    }

    /// Notes that animals were written under identifiers of their own.
    pub(crate) fn count_rewrite(&mut self) {
        self.rewrites = self.rewrites.saturating_add(1);
    }

    /// Gives the keys another revision.
    pub(crate) fn renew_keys(&mut self) -> Result<(), Failure> {
        self.key_revision = Hex::random()?;
        Ok(())
    }

    /// Assigns the next identifier.
    pub(crate) fn next_pet(&mut self) -> Result<PetId, Failure> {
        self.last_pet = self.last_pet.checked_add(1).ok_or(Failure::NoIdentifier)?;
        Ok(PetId(self.last_pet))
    }

    /// Notes the group that is being written.
    pub(crate) fn note_group(&mut self, group: Hex<8>) {
        self.recent.push(group);
        let surplus = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..surplus);
    }

    pub(crate) fn has_group(&self, group: Hex<8>) -> bool {
        self.recent.contains(&group)
    }
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
        self.writes - earlier.writes <= RECENT as i64
    }

    pub(crate) fn stored_version(&self) -> StoredVersion {
        StoredVersion { version: self.head.version(), changes: self.changed }
    }
}
