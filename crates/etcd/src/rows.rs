//! What stands under which key. Values are JSON, so that `etcdctl get` shows them.
//!
//! | key | value |
//! |---|---|
//! | `PREFIX/head` | the one entry that every write replaces: `head.rs` |
//! | `PREFIX/waiting` | who has lost a comparison since the last write |
//! | `PREFIX/pets/ID` | an animal, and the ids of its idempotency records |
//! | `PREFIX/status/STATUS/ID` | the animal again, so that the page of a status is one range |
//! | `PREFIX/records/ID` | an idempotency record |
//! | `PREFIX/expiry/TIME/GROUP` | the records that a transaction has written, under the time of the oldest |
//! | `PREFIX/keys/ID` | an API key |
//!
//! Identifiers and times are 16 hexadecimal digits whose order is theirs: the number plus 2^63.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt::Display};

use petstore_domain::{
    ApiKey, CategoryId, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord,
    KeyDigest, KeyId, KeyName, KeyRights, Pet, PetId, PetName, PetStatus, Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::kv::{Bytes, KeyValue, Range};

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

    /// See [`Core::commit`](crate::core::Core::commit).
    pub(crate) fn waiting(&self) -> String {
        format!("{}waiting", self.prefix)
    }

    /// The folder of `pets`, `records`, `expiry` or `keys`.
    pub(crate) fn folder(&self, name: &str) -> String {
        format!("{}{name}/", self.prefix)
    }

    /// The folder of animals, of all or of one status.
    pub(crate) fn pets(&self, status: Option<PetStatus>) -> String {
        self.folder(&status.map_or("pets".to_owned(), |status| format!("status/{status}")))
    }

    pub(crate) fn pet(&self, status: Option<PetStatus>, id: PetId) -> String {
        format!("{}{}", self.pets(status), ordered(id.0))
    }

    /// Returns ranges of the animals behind `after`, each larger than the one before and with the highest identifier
    /// that it holds; the last one holds all. Who needs `limit` animals finds them in the first, unless most
    /// identifiers are of other animals or of none.
    ///
    /// etcd counts each entry of a range, however few are asked for: out of all that follow, a page would cost more the
    /// more the store holds.
    pub(crate) fn pet_ranges(
        &self,
        status: Option<PetStatus>,
        after: Option<PetId>,
        limit: usize,
    ) -> [(Range, i64); 3] {
        let (first, limit) = (after.map_or(0, |id| id.0), i64::try_from(limit).unwrap_or(i64::MAX));
        [8, 512, i64::MAX].map(|factor| {
            let range = Range::after(after.map(|id| self.pet(status, id)), &self.pets(status));
            let last = first.saturating_add(limit.saturating_mul(factor));
            if factor == i64::MAX || last == i64::MAX {
                return (range, i64::MAX);
            }
            let end = Bytes::from(&*(self.pet(status, PetId(last)) + "\0"));
            (Range { end, ..range }, last)
        })
    }

    pub(crate) fn record(&self, id: &impl Display) -> String {
        format!("{}records/{id}", self.prefix)
    }

    /// The place of what expires at `at`: behind all that expires before.
    pub(crate) fn expiry(&self, at: i64) -> String {
        format!("{}expiry/{}/", self.prefix, ordered(at))
    }

    pub(crate) fn api_key(&self, id: KeyId) -> String {
        format!("{}keys/{}", self.prefix, ordered(id.0))
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

/// An animal, and the ids of the records of it that were ever written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredPet {
    pub(crate) pet: Pet,
    pub(crate) records: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct PetRow {
    name: String,
    category: i64,
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    records: Vec<String>,
}

impl StoredPet {
    pub(crate) fn from_entry(entry: &KeyValue) -> Result<Self, Corruption> {
        let (id, what, row) = read::<PetRow>(entry, "animal")?;
        let corrupt =
            |field, rule: &dyn Display| Corruption::new(&what, format_args!("its {field} {rule}"));
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
        let row = |records| PetRow {
            name: pet.name.as_str().to_owned(),
            category: pet.category_id.0,
            status: pet.status.map(|status| status.to_string()),
            records,
        };
        puts.insert(keys.pet(None, pet.id), json(&row(records.clone())));
        if is_new && pet.status.is_some() {
            puts.insert(keys.pet(pet.status, pet.id), json(&row(Vec::new())));
        }
    }
}

#[derive(Serialize, Deserialize)]
struct RecordRow {
    fingerprint: Bytes,
    pet: i64,
    at: i64,
}

pub(crate) fn record(entry: &KeyValue) -> Result<IdempotencyRecord, Corruption> {
    let name = entry.name();
    let corrupt = |rule| Corruption::new(format_args!("idempotency record {name}"), rule);
    let id = u128::from_str_radix(&name, 16).ok().filter(|_| name.len() == 32);
    let row: RecordRow =
        serde_json::from_slice(&entry.value.0).map_err(|_| corrupt("it is JSON"))?;
    let fingerprint = row.fingerprint.0.try_into();
    Ok(IdempotencyRecord {
        id: IdempotencyId(id.ok_or_else(|| corrupt("its id is 32 digits"))?.to_be_bytes()),
        fingerprint: fingerprint
            .map(Fingerprint)
            .map_err(|_| corrupt("its fingerprint has 32 bytes"))?,
        pet: PetId(row.pet),
        at: Timestamp(row.at),
    })
}

/// Records that one transaction has written: their ids and times.
pub(crate) type Expiry = Vec<(String, i64)>;

pub(crate) fn expiry(entry: &KeyValue) -> Result<Expiry, Corruption> {
    serde_json::from_slice(&entry.value.0).map_err(|error| Corruption::new(entry.key(), error))
}

/// Puts the entry by which these records are purged; none for none.
pub(crate) fn put_expiry(puts: &mut Puts, keys: &Keys, group: u64, records: &Expiry) {
    if let Some(oldest) = records.iter().map(|(_, at)| *at).min() {
        puts.insert(format!("{}{group:016x}", keys.expiry(oldest)), json(records));
    }
}

/// Puts a record, and notes it in what becomes such an entry.
pub(crate) fn put_record(
    puts: &mut Puts,
    keys: &Keys,
    expiry: &mut Expiry,
    record: &IdempotencyRecord,
) {
    let fingerprint = Bytes(record.fingerprint.0.to_vec());
    let row = RecordRow { fingerprint, pet: record.pet.0, at: record.at.0 };
    puts.insert(keys.record(&record.id), json(&row));
    expiry.push((record.id.to_string(), record.at.0));
}

#[derive(Serialize, Deserialize)]
struct ApiKeyRow {
    name: String,
    digest: Bytes,
    prefix: String,
    rights: String,
    created: i64,
    expires: Option<i64>,
    revoked: Option<i64>,
    used: Option<i64>,
}

pub(crate) fn api_key(entry: &KeyValue) -> Result<ApiKey, CorruptKey> {
    let name = serde_json::from_slice::<ApiKeyRow>(&entry.value.0).map(|row| row.name).ok();
    let id = unordered(&entry.name()).map(KeyId);
    read_api_key(entry).map_err(|corruption| CorruptKey { id, name, corruption })
}

fn read_api_key(entry: &KeyValue) -> Result<ApiKey, Corruption> {
    let (id, what, row) = read::<ApiKeyRow>(entry, "API key")?;
    let corrupt = |rule: &dyn Display| Corruption::new(&what, rule);
    let digest = row.digest.0.try_into().map_err(|_| corrupt(&"a digest has 32 bytes"))?;
    let rights = KeyRights::parse(&row.rights).ok_or_else(|| corrupt(&"its rights are known"))?;
    Ok(ApiKey {
        id: KeyId(id),
        name: KeyName::parse(&row.name).map_err(|rule| corrupt(&rule))?,
        digest: KeyDigest(digest),
        prefix: row.prefix,
        rights,
        created_at: Timestamp(row.created),
        expires_at: row.expires.map(Timestamp),
        revoked_at: row.revoked.map(Timestamp),
        last_used_at: row.used.map(Timestamp),
    })
}

pub(crate) fn put_api_key(puts: &mut Puts, keys: &Keys, key: &ApiKey) {
    let time = |at: Option<Timestamp>| at.map(|at| at.0);
    let row = ApiKeyRow {
        name: key.name.to_string(),
        digest: Bytes(key.digest.0.to_vec()),
        prefix: key.prefix.clone(),
        rights: key.rights.as_str().to_owned(),
        created: key.created_at.0,
        expires: time(key.expires_at),
        revoked: time(key.revoked_at),
        used: time(key.last_used_at),
    };
    puts.insert(keys.api_key(key.id), json(&row));
}

/// Reads the identifier at the end of a key, what the entry is, and its row.
fn read<T: DeserializeOwned>(entry: &KeyValue, kind: &str) -> Result<(i64, String, T), Corruption> {
    let name = entry.name();
    let wrong = || Corruption::new(format_args!("{kind} {name}"), "its key ends with 16 digits");
    let id = unordered(&name).ok_or_else(wrong)?;
    let what = format!("{kind} {id}");
    let row = serde_json::from_slice(&entry.value.0);
    row.map_err(|error| Corruption::new(&what, error)).map(|row| (id, what, row))
}

/// Returns a row as JSON. Each consists of texts and numbers, so that it always can be.
pub(crate) fn json(row: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(row).unwrap_or_default()
}
