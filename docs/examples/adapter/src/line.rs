//! The content of a line of the file.

use petstore_domain::{
    ApiKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, Pet, PetId, Phase,
    StoreId, StoreState, StoredApiKey, Timestamp,
};
use serde::{Deserialize, Serialize};

/// The writes of one line: they are on the disk all together, or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The version that the line sets if it changes animals or the state, and the key revision that it sets if it saves
    /// keys. A random number, so that no other file and no restored backup has it.
    pub(crate) random: u128,
    pub(crate) writes: Vec<Write>,
}

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// An animal was added, or stored under its own identifier.
    Pet(Pet),
    /// `write_rows` has stored new animals, so the number of rewrites rises.
    Rewrite,
    /// New animals get identifiers above this number.
    HighestPet(i64),
    /// New keys get identifiers above this number.
    HighestKey(i64),
    Record(IdempotencyRecord),
    PurgedRecord(IdempotencyId),
    /// A key was added or changed; this is its new value.
    Key(ApiKey),
    UsedKey(KeyId, Timestamp),
    RemovedKey(KeyId),
    /// Keys were saved, perhaps without a change.
    Saved,
    /// The state was replaced, except for its number of rewrites.
    State(StoreState),
}

/// A group as JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredGroup {
    random: [u8; 16],
    writes: Vec<StoredWrite>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredWrite {
    Pet {
        id: i64,
        name: String,
        category: i64,
        status: Option<String>,
    },
    Rewrite,
    HighestPet(i64),
    HighestKey(i64),
    Record {
        id: [u8; 16],
        fingerprint: [u8; 32],
        pet: i64,
        at: i64,
    },
    PurgedRecord([u8; 16]),
    Key(StoredKey),
    UsedKey(i64, i64),
    RemovedKey(i64),
    Saved,
    State {
        id: [u8; 16],
        revision: i64,
        phase: String,
        other: Option<[u8; 16]>,
        label: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredKey {
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

impl From<&Group> for StoredGroup {
    fn from(Group { random, writes }: &Group) -> Self {
        let writes = writes.iter().map(StoredWrite::from).collect();
        Self { random: random.to_be_bytes(), writes }
    }
}

/// Reads rows through the constructors of the domain, because another program may have written the file.
impl TryFrom<StoredGroup> for Group {
    type Error = Corruption;

    fn try_from(StoredGroup { random, writes }: StoredGroup) -> Result<Self, Corruption> {
        let writes = writes.into_iter().map(Write::try_from).collect::<Result<_, _>>()?;
        Ok(Self { random: u128::from_be_bytes(random), writes })
    }
}

impl From<&Write> for StoredWrite {
    fn from(write: &Write) -> Self {
        match write {
            Write::Pet(Pet { id, name, category_id, status }) => Self::Pet {
                id: id.0,
                name: name.as_str().to_owned(),
                category: category_id.0,
                status: status.map(|status| status.as_str().to_owned()),
            },
            Write::Rewrite => Self::Rewrite,
            Write::HighestPet(id) => Self::HighestPet(*id),
            Write::HighestKey(id) => Self::HighestKey(*id),
            Write::Record(IdempotencyRecord { id, fingerprint, pet, at }) => {
                Self::Record { id: id.0, fingerprint: fingerprint.0, pet: pet.0, at: at.0 }
            }
            Write::PurgedRecord(id) => Self::PurgedRecord(id.0),
            Write::Key(key) => Self::Key(StoredKey {
                id: key.id.0,
                name: key.name.as_str().to_owned(),
                digest: key.digest.0,
                prefix: key.prefix.clone(),
                rights: key.rights.as_str().to_owned(),
                created_at: key.created_at.0,
                expires_at: key.expires_at.map(|at| at.0),
                revoked_at: key.revoked_at.map(|at| at.0),
                last_used_at: key.last_used_at.map(|at| at.0),
            }),
            Write::UsedKey(id, at) => Self::UsedKey(id.0, at.0),
            Write::RemovedKey(id) => Self::RemovedKey(id.0),
            Write::Saved => Self::Saved,
            Write::State(StoreState { id, revision, phase, .. }) => {
                let (word, other, label) = phase.parts();
                Self::State {
                    id: id.0,
                    revision: *revision,
                    phase: word.to_owned(),
                    other: other.map(|id| id.0),
                    label: label.map(str::to_owned),
                }
            }
        }
    }
}

impl TryFrom<StoredWrite> for Write {
    type Error = Corruption;

    fn try_from(stored: StoredWrite) -> Result<Self, Corruption> {
        Ok(match stored {
            StoredWrite::Pet { id, name, category, status } => {
                Self::Pet(Pet::from_stored(id, name, category, status.as_deref())?)
            }
            StoredWrite::Rewrite => Self::Rewrite,
            StoredWrite::HighestPet(id) => Self::HighestPet(id),
            StoredWrite::HighestKey(id) => Self::HighestKey(id),
            StoredWrite::Record { id, fingerprint, pet, at } => Self::Record(IdempotencyRecord {
                id: IdempotencyId(id),
                fingerprint: Fingerprint(fingerprint),
                pet: PetId(pet),
                at: Timestamp(at),
            }),
            StoredWrite::PurgedRecord(id) => Self::PurgedRecord(IdempotencyId(id)),
            StoredWrite::Key(key) => {
                let row = StoredApiKey {
                    id: key.id,
                    name: &key.name,
                    digest: &key.digest,
                    prefix: &key.prefix,
                    rights: &key.rights,
                    created_at: key.created_at,
                    expires_at: key.expires_at,
                    revoked_at: key.revoked_at,
                    last_used_at: key.last_used_at,
                };
                Self::Key(ApiKey::from_stored(row).map_err(|corrupt| corrupt.corruption)?)
            }
            StoredWrite::UsedKey(id, at) => Self::UsedKey(KeyId(id), Timestamp(at)),
            StoredWrite::RemovedKey(id) => Self::RemovedKey(KeyId(id)),
            StoredWrite::Saved => Self::Saved,
            StoredWrite::State { id, revision, phase, other, label } => {
                let phase = Phase::from_parts(&phase, other.map(StoreId), label)?;
                Self::State(StoreState { id: StoreId(id), revision, rewrites: 0, phase })
            }
        })
    }
}
