//! What a line of the file holds.

use petstore_domain::{
    ApiKey, CategoryId, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, KeyDigest,
    KeyId, KeyName, KeyRights, Pet, PetId, PetName, PetStatus, Timestamp,
};
use serde::{Deserialize, Serialize};

/// One write. What must happen together is in one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first line: a random number, so that no version of this file is one of another.
    Store { epoch: u64 },
    /// An animal was added, with its idempotency record if there is one.
    Pet { pet: PetLine, record: Option<RecordLine> },
    /// The next animal's identifier is to be above this one.
    AssignAbove(i64),
    /// An idempotency record was copied.
    Record(RecordLine),
    /// Idempotency records were purged, each by its id.
    Purged(Vec<[u8; 16]>),
    /// API keys were added or changed: as they are now.
    Keys(Vec<KeyLine>),
    /// API keys were removed, each by its identifier.
    RemovedKeys(Vec<i64>),
    /// All of these at once.
    Together(Vec<Line>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PetLine {
    id: i64,
    name: String,
    category: i64,
    status: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordLine {
    id: [u8; 16],
    fingerprint: [u8; 32],
    pet: i64,
    at: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeyLine {
    id: i64,
    name: String,
    digest: [u8; 32],
    prefix: String,
    rights: String,
    created_at: i64,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
    last_used_at: Option<i64>,
}

impl From<&Pet> for PetLine {
    fn from(pet: &Pet) -> Self {
        let Pet { id, name, category_id, status } = pet;
        Self {
            id: id.0,
            name: name.as_str().to_owned(),
            category: category_id.0,
            status: status.map(|status| status.as_str().to_owned()),
        }
    }
}

impl PetLine {
    /// Through the constructors of the domain: the file may have been edited.
    pub(crate) fn read(self) -> Result<Pet, Corruption> {
        let what = format!("animal {}", self.id);
        let status = self.status.as_deref().map(PetStatus::parse).transpose();
        Ok(Pet {
            id: PetId(self.id),
            name: PetName::parse(self.name).map_err(|rule| Corruption::new(&what, rule))?,
            category_id: CategoryId(self.category),
            status: status.map_err(|rule| Corruption::new(&what, rule))?,
        })
    }
}

impl From<&IdempotencyRecord> for RecordLine {
    fn from(record: &IdempotencyRecord) -> Self {
        let IdempotencyRecord { id, fingerprint, pet, at } = record;
        Self { id: id.0, fingerprint: fingerprint.0, pet: pet.0, at: at.0 }
    }
}

impl From<RecordLine> for IdempotencyRecord {
    fn from(RecordLine { id, fingerprint, pet, at }: RecordLine) -> Self {
        let (id, fingerprint) = (IdempotencyId(id), Fingerprint(fingerprint));
        Self { id, fingerprint, pet: PetId(pet), at: Timestamp(at) }
    }
}

impl From<&ApiKey> for KeyLine {
    fn from(key: &ApiKey) -> Self {
        Self {
            id: key.id.0,
            name: key.name.as_str().to_owned(),
            digest: key.digest.0,
            prefix: key.prefix.clone(),
            rights: key.rights.as_str().to_owned(),
            created_at: key.created_at.0,
            expires_at: key.expires_at.map(|at| at.0),
            revoked_at: key.revoked_at.map(|at| at.0),
            last_used_at: key.last_used_at.map(|at| at.0),
        }
    }
}

impl KeyLine {
    pub(crate) fn read(self) -> Result<ApiKey, Corruption> {
        let what = format!("API key {}", self.id);
        let rights = KeyRights::parse(&self.rights);
        let rights = rights.ok_or_else(|| Corruption::new(&what, "its rights are known"))?;
        Ok(ApiKey {
            id: KeyId(self.id),
            name: KeyName::parse(&self.name).map_err(|rule| Corruption::new(&what, rule))?,
            rights,
            digest: KeyDigest(self.digest),
            prefix: self.prefix,
            created_at: Timestamp(self.created_at),
            expires_at: self.expires_at.map(Timestamp),
            revoked_at: self.revoked_at.map(Timestamp),
            last_used_at: self.last_used_at.map(Timestamp),
        })
    }
}
