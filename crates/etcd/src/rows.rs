//! Keys and values. Values are JSON, so that `etcdctl get` can show them.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use petstore_domain::{
    ApiKey, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, Pet,
    PetId, PetStatus, RecordPosition, StoredApiKey, Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::kv::{Bytes, KeyValue, Range};

/// The keys of one store.
///
/// | key | value |
/// |---|---|
/// | `PREFIX/store` | the head, which every write replaces (`head.rs`) |
/// | `PREFIX/head` | the key of the head before schema version 2: an entry that older releases refuse (`schema.rs`) |
/// | `PREFIX/waiting` | the process that another process last beat to a write, until the next write (`core.rs`) |
/// | `PREFIX/pets/ID` | an animal |
/// | `PREFIX/status/STATUS/ID` | the animal again, by its status: a page of one status is one range |
/// | `PREFIX/records/RECORD` | an idempotency record |
/// | `PREFIX/recorded/ID/RECORD` | the record again, by its animal: snapshots read in this order |
/// | `PREFIX/expiry/TIME/GROUP` | ids and times of the records of one transaction, by the oldest time |
/// | `PREFIX/keys/ID` | an API key |
///
/// Identifiers and times are the number plus 2^63 in 16 hexadecimal digits, so that keys sort like numbers.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Ends with a `/`.
    pub(crate) prefix: String,
}

impl Keys {
    pub(crate) fn head(&self) -> String {
        format!("{}store", self.prefix)
    }

    /// The key of the head before schema version 2.
    pub(crate) fn old_head(&self) -> String {
        format!("{}head", self.prefix)
    }

    /// See [`Core::commit`](crate::core::Core::commit).
    pub(crate) fn contender(&self) -> String {
        format!("{}waiting", self.prefix)
    }

    /// Returns the folder `name`, such as `pets` or `recorded`, with a `/` at its end.
    pub(crate) fn folder(&self, name: &str) -> String {
        format!("{}{name}/", self.prefix)
    }

    /// Returns the folder of all animals, or of the animals with one status.
    pub(crate) fn pets(&self, status: Option<PetStatus>) -> String {
        self.folder(&status.map_or("pets".to_owned(), |status| format!("status/{status}")))
    }

    pub(crate) fn pet(&self, status: Option<PetStatus>, id: PetId) -> String {
        format!("{}{}", self.pets(status), ordered(id.0))
    }

    pub(crate) fn record(&self, id: &impl Display) -> String {
        format!("{}records/{id}", self.prefix)
    }

    pub(crate) fn recorded(&self, position: RecordPosition) -> String {
        format!("{}recorded/{}/{}", self.prefix, ordered(position.pet.0), position.id)
    }

    /// Returns the beginning of the keys of the expiry entries with the time `at`.
    pub(crate) fn expiry(&self, at: i64) -> String {
        format!("{}expiry/{}/", self.prefix, ordered(at))
    }

    pub(crate) fn api_key(&self, id: KeyId) -> String {
        format!("{}keys/{}", self.prefix, ordered(id.0))
    }

    /// Returns whether `key` is the old head or is in a folder of a store.
    pub(crate) fn is_own(&self, key: &str) -> bool {
        let folders = ["pets", "status", "records", "recorded", "expiry", "keys"];
        key == self.old_head() || folders.iter().any(|name| key.starts_with(&self.folder(name)))
    }
}

/// Returns the end of a window at the start of `range`, and the last identifier that the window can hold: the
/// identifier at the start of `range`, or 0 without one, plus `ids`. The window is the whole range if this is too large
/// for an `i64`. Behind `folder`, each key begins with an identifier.
pub(crate) fn window(folder: &str, range: &Range, ids: usize) -> (Bytes, i64) {
    let digits = range.key.0.get(folder.len()..folder.len() + 16);
    let first = digits.and_then(|digits| unordered(str::from_utf8(digits).ok()?)).unwrap_or(0);
    match i64::try_from(ids).ok().and_then(|ids| first.checked_add(ids)) {
        // `0` is one above `/`, so this end is behind every key that continues with `/`.
        Some(last) => (Bytes::from(&*format!("{folder}{}0", ordered(last))), last),
        None => (range.end.clone(), i64::MAX),
    }
}

fn ordered(number: i64) -> String {
    format!("{:016x}", number.cast_unsigned() ^ (1 << 63))
}

fn unordered(text: &str) -> Option<i64> {
    let number = u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16);
    number.map(|number| (number ^ (1 << 63)).cast_signed())
}

#[derive(Serialize, Deserialize)]
struct PetRow {
    name: String,
    category: i64,
    status: Option<String>,
}

pub(crate) fn pet(entry: &KeyValue) -> Result<Pet, Corruption> {
    let (id, row) = read::<PetRow>(entry, "animal")?;
    Pet::from_stored(id, row.name, row.category, row.status.as_deref())
}

pub(crate) fn of_pet(pet: &Pet) -> Vec<u8> {
    json(&PetRow {
        name: pet.name.as_str().to_owned(),
        category: pet.category_id.0,
        status: pet.status.map(|status| status.to_string()),
    })
}

#[derive(Serialize, Deserialize)]
struct RecordRow {
    fingerprint: Bytes,
    pet: i64,
    at: i64,
}

/// Reads a record from either of its entries.
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

/// The content of an expiry entry: ids and times of the records that one transaction put, or that a purge kept.
pub(crate) type Expiry = Vec<(String, i64)>;

pub(crate) fn expiry(entry: &KeyValue) -> Result<Expiry, Corruption> {
    serde_json::from_slice(&entry.value.0).map_err(|error| Corruption::new(entry.key(), error))
}

pub(crate) fn of_record(record: &IdempotencyRecord) -> Vec<u8> {
    let fingerprint = Bytes(record.fingerprint.0.to_vec());
    json(&RecordRow { fingerprint, pet: record.pet.0, at: record.at.0 })
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
    let id = unordered(&entry.name()).map(KeyId);
    let (id, row) = read::<ApiKeyRow>(entry, "API key").map_err(|corruption| CorruptKey {
        id,
        name: None,
        corruption,
    })?;
    ApiKey::from_stored(StoredApiKey {
        id,
        name: &row.name,
        digest: &row.digest.0,
        prefix: &row.prefix,
        rights: &row.rights,
        created_at: row.created,
        expires_at: row.expires,
        revoked_at: row.revoked,
        last_used_at: row.used,
    })
}

pub(crate) fn of_api_key(key: &ApiKey) -> Vec<u8> {
    let time = |at: Option<Timestamp>| at.map(|at| at.0);
    json(&ApiKeyRow {
        name: key.name.to_string(),
        digest: Bytes(key.digest.0.to_vec()),
        prefix: key.prefix.clone(),
        rights: key.rights.as_str().to_owned(),
        created: key.created_at.0,
        expires: time(key.expires_at),
        revoked: time(key.revoked_at),
        used: time(key.last_used_at),
    })
}

/// Reads the identifier at the end of the key, and the row in the value.
fn read<T: DeserializeOwned>(entry: &KeyValue, kind: &str) -> Result<(i64, T), Corruption> {
    let name = entry.name();
    let wrong = || Corruption::new(format_args!("{kind} {name}"), "its key ends with 16 digits");
    let id = unordered(&name).ok_or_else(wrong)?;
    let row = serde_json::from_slice(&entry.value.0);
    row.map(|row| (id, row)).map_err(|error| Corruption::new(format_args!("{kind} {id}"), error))
}

/// Returns a row as JSON. Writing cannot fail, because rows consist of strings and numbers.
pub(crate) fn json(row: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(row).unwrap_or_default()
}
