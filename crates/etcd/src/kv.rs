//! The requests and answers of etcd's JSON gateway, as far as they are used. Keys and values are base64, numbers are
//! texts, and what is zero or empty is left out.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bytes, as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Reads a number that is a text.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// One key, or those from `key` on and below `range_end`, ascending.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Range {
    key: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    range_end: Option<Bytes>,
    /// 0 is none.
    limit: i64,
    /// 0 is the newest.
    revision: i64,
    count_only: bool,
}

impl Range {
    pub(crate) fn one(key: &str) -> Self {
        Self { key: key.into(), range_end: None, limit: 0, revision: 0, count_only: false }
    }

    /// Every key that begins with `folder`, which ends with a `/`.
    pub(crate) fn all(folder: &str) -> Self {
        Self::from(folder, folder)
    }

    /// Keys from `first` on that begin with `folder`.
    pub(crate) fn from(first: &str, folder: &str) -> Self {
        Self { range_end: Some(end_of(folder)), ..Self::one(first) }
    }

    /// Keys behind `key` that begin with `folder`; all of them behind none.
    pub(crate) fn after(key: Option<String>, folder: &str) -> Self {
        // Nothing lies between a key and the key with a zero byte behind it.
        key.map_or_else(|| Self::all(folder), |key| Self::from(&(key + "\0"), folder))
    }

    /// Keys from `first` on and below `end`.
    pub(crate) fn until(first: &str, end: &str) -> Self {
        Self { range_end: Some(end.into()), ..Self::one(first) }
    }

    pub(crate) fn limit(self, limit: usize) -> Self {
        Self { limit: i64::try_from(limit).unwrap_or(i64::MAX), ..self }
    }

    pub(crate) fn at(self, revision: i64) -> Self {
        Self { revision, ..self }
    }

    pub(crate) fn count_only(self) -> Self {
        Self { count_only: true, ..self }
    }

    /// Goes on behind what was read.
    pub(crate) fn behind(&mut self, last: &KeyValue) {
        self.key = last.key.clone();
        self.key.0.push(0);
    }
}

/// Returns the first key behind all that begin with `folder`: 0 follows the `/` at its end.
fn end_of(folder: &str) -> Bytes {
    Bytes::from(&*format!("{}0", folder.trim_end_matches('/')))
}

/// A condition of a transaction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compare {
    key: Bytes,
    target: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_revision: Option<&'static str>,
}

impl Compare {
    pub(crate) fn has_value(key: &str, value: &[u8]) -> Self {
        let value = Some(Bytes(value.to_vec()));
        Self { key: key.into(), target: "VALUE", value, create_revision: None }
    }

    pub(crate) fn is_absent(key: &str) -> Self {
        Self { key: key.into(), target: "CREATE", value: None, create_revision: Some("0") }
    }
}

/// One operation of a transaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    RequestRange(Range),
    RequestPut { key: Bytes, value: Bytes },
    RequestDeleteRange(DeleteRange),
}

impl Op {
    pub(crate) fn put(key: &str, value: Vec<u8>) -> Self {
        Self::RequestPut { key: key.into(), value: Bytes(value) }
    }

    pub(crate) fn delete(key: &str) -> Self {
        Self::RequestDeleteRange(DeleteRange { key: key.into(), range_end: None })
    }

    pub(crate) fn delete_all(folder: &str) -> Self {
        let range_end = Some(end_of(folder));
        Self::RequestDeleteRange(DeleteRange { key: folder.into(), range_end })
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeleteRange {
    key: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    range_end: Option<Bytes>,
}

/// If every comparison holds, `success`, else `failure`: all at one revision.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Txn {
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Op>,
    pub(crate) failure: Vec<Op>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Header {
    #[serde(default)]
    pub(crate) cluster_id: String,
    #[serde(default, deserialize_with = "number")]
    pub(crate) revision: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TxnAnswer {
    pub(crate) header: Header,
    #[serde(default)]
    pub(crate) succeeded: bool,
    #[serde(default)]
    responses: Vec<OpAnswer>,
}

impl TxnAnswer {
    /// Returns what each range found.
    pub(crate) fn found(self) -> impl Iterator<Item = Vec<KeyValue>> {
        self.responses.into_iter().map(|answer| answer.response_range.unwrap_or_default().kvs)
    }
}

#[derive(Debug, Deserialize)]
struct OpAnswer {
    response_range: Option<RangeAnswer>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct RangeAnswer {
    #[serde(default)]
    pub(crate) header: Header,
    #[serde(default)]
    pub(crate) kvs: Vec<KeyValue>,
    #[serde(default)]
    pub(crate) more: bool,
    #[serde(default, deserialize_with = "number")]
    pub(crate) count: i64,
}

/// One entry.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KeyValue {
    pub(crate) key: Bytes,
    #[serde(default)]
    pub(crate) value: Bytes,
    /// The revision of its last change.
    #[serde(default, deserialize_with = "number")]
    pub(crate) mod_revision: i64,
    /// How often it was written.
    #[serde(default, deserialize_with = "number")]
    pub(crate) version: i64,
}

impl KeyValue {
    pub(crate) fn key(&self) -> String {
        String::from_utf8_lossy(&self.key.0).into_owned()
    }

    /// Returns the last part of the key.
    pub(crate) fn name(&self) -> String {
        let key = self.key();
        key.rsplit_once('/').map_or(key.clone(), |(_, name)| name.to_owned())
    }
}
