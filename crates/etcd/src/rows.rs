//! What stands under which key. Values are JSON, so that `etcdctl get` shows them.
//!
//! | key | value |
//! |---|---|
//! | `PREFIX/head` | the one entry that every write replaces: `head.rs` |
//! | `PREFIX/pets/ID` | an animal, and the ids of its idempotency records |
//! | `PREFIX/status/STATUS/ID` | the animal again, so that the page of a status is one range |
//! | `PREFIX/records/ID` | an idempotency record |
//! | `PREFIX/expiry/TIME/GROUP` | which records a transaction has written, under the time of the oldest |
//! | `PREFIX/keys/ID` | an API key |
//!
//! Identifiers and times are 16 hexadecimal digits whose order is theirs: the number plus 2^63.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use petstore_domain::{
    ApiKey, CategoryId, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord,
    KeyDigest, KeyId, KeyName, KeyRights, Pet, PetId, PetName, PetStatus, Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::kv::KeyValue;

/// Puts keys together.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Ends with a `/`.
    pub(crate) prefix: String,
}

impl Keys {
    pub(crate) fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    /// The folder of animals, of all or of one status.
    pub(crate) fn pets(&self, status: Option<PetStatus>) -> String {
        status.map_or_else(
            || format!("{}pets/", self.prefix),
            |status| format!("{}status/{status}/", self.prefix),
        )
    }

    pub(crate) fn pet(&self, status: Option<PetStatus>, id: PetId) -> String {
        format!("{}{}", self.pets(status), ordered(id.0))
    }

    pub(crate) fn records(&self) -> String {
        format!("{}records/", self.prefix)
    }

    pub(crate) fn record(&self, id: IdempotencyId) -> String {
        format!("{}{id}", self.records())
    }

    pub(crate) fn expiries(&self) -> String {
        format!("{}expiry/", self.prefix)
    }

    pub(crate) fn expiry(&self, at: Timestamp, group: &str) -> String {
        format!("{}{}/{group}", self.expiries(), ordered(at.0))
    }

    /// The first key behind what expires at `at` or before.
    pub(crate) fn after_expiry(&self, at: Timestamp) -> String {
        format!("{}{}0", self.expiries(), ordered(at.0))
    }

    pub(crate) fn api_keys(&self) -> String {
        format!("{}keys/", self.prefix)
    }

    pub(crate) fn api_key(&self, id: KeyId) -> String {
        format!("{}{}", self.api_keys(), ordered(id.0))
    }
}

fn ordered(number: i64) -> String {
    format!("{:016x}", number.cast_unsigned() ^ (1 << 63))
}

fn unordered(text: &str) -> Option<i64> {
    let number = u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16);
    number.map(|number| (number ^ (1 << 63)).cast_signed())
}

/// What a transaction puts.
pub(crate) type Puts = BTreeMap<String, Vec<u8>>;

/// Bytes, as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Hex<N> {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(hex: Hex<N>) -> Self {
        hex.to_string()
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("there are {} hexadecimal digits", 2 * N);
        let mut bytes = [0; N];
        if text.len() != 2 * N || !text.is_ascii() {
            return Err(wrong());
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// An animal, and the ids of the records of it that were ever written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredPet {
    pub(crate) pet: Pet,
    pub(crate) records: Vec<Hex<16>>,
}

#[derive(Serialize, Deserialize)]
struct PetRow {
    name: String,
    category: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    records: Vec<Hex<16>>,
}

impl StoredPet {
    pub(crate) fn from_entry(entry: &KeyValue) -> Result<Self, Corruption> {
        let (id, what) = named(entry, "animal")?;
        let row: PetRow = read(entry, &what)?;
        let corrupt = |field: &str, rule: &dyn fmt::Display| {
            Corruption::new(&what, format_args!("its {field} {rule}"))
        };
        let status = row.status.as_deref().map(PetStatus::parse).transpose();
        let pet = Pet {
            id: PetId(id),
            name: PetName::parse(row.name).map_err(|rule| corrupt("name", &rule))?,
            category_id: CategoryId(row.category),
            status: status.map_err(|rule| corrupt("status", &rule))?,
        };
        Ok(Self { pet, records: row.records })
    }

    /// Puts the animal's entry, and the one of its status, which only a new animal needs.
    pub(crate) fn put(&self, puts: &mut Puts, keys: &Keys, is_new: bool) {
        let Self { pet, records } = self;
        let row = |records: &[Hex<16>]| PetRow {
            name: pet.name.as_str().to_owned(),
            category: pet.category_id.0,
            status: pet.status.map(|status| status.as_str().to_owned()),
            records: records.to_vec(),
        };
        puts.insert(keys.pet(None, pet.id), value(&row(records)));
        if is_new && pet.status.is_some() {
            puts.insert(keys.pet(pet.status, pet.id), value(&row(&[])));
        }
    }
}

#[derive(Serialize, Deserialize)]
struct RecordRow {
    fingerprint: Hex<32>,
    pet: i64,
    at: i64,
}

pub(crate) fn record(entry: &KeyValue) -> Result<IdempotencyRecord, Corruption> {
    let what = format!("idempotency record {}", entry.name());
    let Hex(id) = Hex::try_from(entry.name()).map_err(|rule| Corruption::new(&what, rule))?;
    let RecordRow { fingerprint, pet, at } = read(entry, &what)?;
    Ok(IdempotencyRecord {
        id: IdempotencyId(id),
        fingerprint: Fingerprint(fingerprint.0),
        pet: PetId(pet),
        at: Timestamp(at),
    })
}

pub(crate) fn put_record(puts: &mut Puts, keys: &Keys, record: &IdempotencyRecord) {
    let fingerprint = Hex(record.fingerprint.0);
    let row = RecordRow { fingerprint, pet: record.pet.0, at: record.at.0 };
    puts.insert(keys.record(record.id), value(&row));
}

/// Records that one transaction has written, with their times.
pub(crate) type Expiry = Vec<(Hex<16>, i64)>;

pub(crate) fn expiry(entry: &KeyValue) -> Result<Expiry, Corruption> {
    read(entry, &format!("the entry {}", String::from_utf8_lossy(&entry.key.0)))
}

/// Puts the entry by which the records are purged; none for none.
pub(crate) fn put_expiry(puts: &mut Puts, keys: &Keys, group: &str, records: &Expiry) {
    if let Some(oldest) = records.iter().map(|(_, at)| *at).min() {
        puts.insert(keys.expiry(Timestamp(oldest), group), value(records));
    }
}

#[derive(Serialize, Deserialize)]
struct ApiKeyRow {
    name: String,
    digest: Hex<32>,
    prefix: String,
    rights: String,
    created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<i64>,
}

pub(crate) fn api_key(entry: &KeyValue) -> Result<ApiKey, CorruptKey> {
    read_api_key(entry).map_err(|corruption| CorruptKey {
        id: unordered(&entry.name()).map(KeyId),
        name: serde_json::from_slice::<ApiKeyRow>(&entry.value.0).ok().map(|row| row.name),
        corruption,
    })
}

fn read_api_key(entry: &KeyValue) -> Result<ApiKey, Corruption> {
    let (id, what) = named(entry, "API key")?;
    let row: ApiKeyRow = read(entry, &what)?;
    let rights = KeyRights::parse(&row.rights);
    Ok(ApiKey {
        id: KeyId(id),
        name: KeyName::parse(&row.name).map_err(|rule| Corruption::new(&what, rule))?,
        digest: KeyDigest(row.digest.0),
        prefix: row.prefix,
        rights: rights.ok_or_else(|| Corruption::new(&what, "its rights are known"))?,
        created_at: Timestamp(row.created),
        expires_at: row.expires.map(Timestamp),
        revoked_at: row.revoked.map(Timestamp),
        last_used_at: row.used.map(Timestamp),
    })
}

pub(crate) fn put_api_key(puts: &mut Puts, keys: &Keys, key: &ApiKey) {
    let row = ApiKeyRow {
        name: key.name.as_str().to_owned(),
        digest: Hex(key.digest.0),
        prefix: key.prefix.clone(),
        rights: key.rights.as_str().to_owned(),
        created: key.created_at.0,
        expires: key.expires_at.map(|at| at.0),
        revoked: key.revoked_at.map(|at| at.0),
        used: key.last_used_at.map(|at| at.0),
    };
    puts.insert(keys.api_key(key.id), value(&row));
}

/// Returns the identifier at the end of a key, and what it is of.
fn named(entry: &KeyValue, kind: &str) -> Result<(i64, String), Corruption> {
    let id = unordered(&entry.name());
    let wrong = || Corruption::new(format_args!("{kind} {}", entry.name()), "its key is 16 digits");
    id.map(|id| (id, format!("{kind} {id}"))).ok_or_else(wrong)
}

fn read<T: DeserializeOwned>(entry: &KeyValue, what: &str) -> Result<T, Corruption> {
    serde_json::from_slice(&entry.value.0).map_err(|error| Corruption::new(what, error))
}

/// Returns a row as JSON. Each consists of texts and numbers, so that it always can be.
fn value(row: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(row).unwrap_or_default()
}
