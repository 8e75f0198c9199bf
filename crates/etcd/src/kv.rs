//! The requests and responses of etcd's JSON gateway that this crate uses. Keys and values are base64. In responses,
//! numbers are strings, and a field that is zero or empty may be missing.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bytes, which are base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Reads a number that is a string.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// A range of keys, ascending: `key` alone if `end` is empty, or all keys from `key` up to but not including `end`.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Range {
    pub(crate) key: Bytes,
    #[serde(rename = "range_end")]
    pub(crate) end: Bytes,
    /// The largest number of entries to return; 0 is no limit.
    pub(crate) limit: usize,
    /// The revision to read; 0 is the newest.
    pub(crate) revision: i64,
    pub(crate) count_only: bool,
    /// Only entries with a change at this revision or later are returned.
    pub(crate) min_mod_revision: i64,
}

impl Range {
    pub(crate) fn one(key: &str) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Returns the range of the keys that begin with `folder`, which ends with a `/`. With `key`, the range
    /// holds only the keys behind `key`.
    pub(crate) fn after(key: Option<String>, folder: &str) -> Self {
        // A zero byte makes the next possible key. In ASCII, `0` follows `/`.
        let first = key.map_or_else(|| folder.to_owned(), |key| key + "\0");
        let end = Bytes::from(&*format!("{}0", folder.trim_end_matches('/')));
        Self { end, ..Self::one(&first) }
    }
}

/// A condition of a transaction: the value of an entry, or the revision of its first write, which is 0 for a key
/// without an entry.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "target", rename_all = "UPPERCASE")]
pub(crate) enum Compare {
    Value { key: Bytes, value: Bytes },
    Create { key: Bytes, create_revision: i64 },
}

/// An operation of a transaction.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum Op {
    #[serde(rename = "request_range")]
    Range(Range),
    #[serde(rename = "request_put")]
    Put { key: Bytes, value: Bytes },
    #[serde(rename = "request_delete_range")]
    Delete { key: Bytes, prev_kv: bool },
    #[serde(rename = "request_txn")]
    Txn(Txn),
}

impl Op {
    pub(crate) fn put(key: &str, value: Vec<u8>) -> Self {
        Self::Put { key: key.into(), value: Bytes(value) }
    }

    /// Returns the deletion of an entry. With `prev_kv`, the response contains the deleted entry.
    pub(crate) fn delete(key: &str, prev_kv: bool) -> Self {
        Self::Delete { key: key.into(), prev_kv }
    }
}

/// A transaction: runs `success` if every comparison holds, otherwise `failure`, at one revision.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Txn {
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Op>,
    pub(crate) failure: Vec<Op>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Header {
    pub(crate) cluster_id: String,
    #[serde(deserialize_with = "number")]
    pub(crate) revision: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TxnAnswer {
    pub(crate) header: Header,
    pub(crate) succeeded: bool,
    responses: Vec<OpAnswer>,
}

impl TxnAnswer {
    /// Returns the entries of each range, and the entries that were deleted with `prev_kv`.
    pub(crate) fn found(self) -> impl Iterator<Item = Vec<KeyValue>> {
        self.responses.into_iter().map(|answer| answer.response_range.kvs)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpAnswer {
    #[serde(alias = "response_delete_range")]
    response_range: RangeAnswer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RangeAnswer {
    #[serde(alias = "prev_kvs")]
    pub(crate) kvs: Vec<KeyValue>,
    #[serde(deserialize_with = "number")]
    pub(crate) count: i64,
}

/// A key with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct KeyValue {
    pub(crate) key: Bytes,
    pub(crate) value: Bytes,
    /// The revision of the last change.
    #[serde(deserialize_with = "number")]
    pub(crate) mod_revision: i64,
    /// The number of writes since the entry was created.
    #[serde(deserialize_with = "number")]
    pub(crate) version: i64,
}

impl KeyValue {
    pub(crate) fn new(key: &str, value: Vec<u8>) -> Self {
        Self { key: key.into(), value: Bytes(value), ..Self::default() }
    }

    pub(crate) fn key(&self) -> String {
        String::from_utf8_lossy(&self.key.0).into_owned()
    }

    /// Returns the last part of the key.
    pub(crate) fn name(&self) -> String {
        self.key().rsplit('/').next().unwrap_or_default().to_owned()
    }
}
