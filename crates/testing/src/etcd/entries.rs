//! The entries of the nodes, read and changed as by `etcdctl`. Keys and values are text.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Etcd;

impl Etcd {
    /// Puts an entry.
    ///
    /// # Errors
    /// The first node does not answer.
    pub fn put(&self, key: &str, value: &str) -> Result<(), String> {
        self.ask("kv/put", &json!({"key": coded(key), "value": coded(value)})).map(drop)
    }

    /// Replaces the value of an entry if it is still `old`. Returns whether it was.
    ///
    /// # Errors
    /// The first node does not answer.
    pub fn replace(&self, key: &str, old: &str, new: &str) -> Result<bool, String> {
        let is_old = json!({"key": coded(key), "target": "VALUE", "value": coded(old)});
        let put = json!({"request_put": {"key": coded(key), "value": coded(new)}});
        let answer = self.ask("kv/txn", &json!({"compare": [is_old], "success": [put]}))?;
        Ok(answer["succeeded"] == true)
    }

    /// Deletes the entry `key`, or all entries of the folder `key`, which ends with a `/`.
    ///
    /// # Errors
    /// The first node does not answer.
    pub fn delete(&self, key: &str) -> Result<(), String> {
        self.ask("kv/deleterange", &range(key)).map(drop)
    }

    /// Returns every entry of a folder, which ends with a `/`. The entries ascend by their keys.
    ///
    /// # Errors
    /// The first node does not answer, or an entry is not text.
    pub fn entries(&self, folder: &str) -> Result<Vec<(String, String)>, String> {
        let answer = self.ask("kv/range", &range(folder))?;
        let entries = answer["kvs"].as_array().into_iter().flatten();
        entries.map(|entry| Ok((text(&entry["key"])?, text(&entry["value"])?))).collect()
    }

    /// Returns the value of an entry.
    ///
    /// # Errors
    /// The first node does not answer, there is no such entry, or the value is not text.
    pub fn value(&self, key: &str) -> Result<String, String> {
        text(&self.ask("kv/range", &range(key))?["kvs"][0]["value"])
    }

    /// Returns the status of the first node.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn status(&self) -> Result<Value, String> {
        self.ask("maintenance/status", &json!({}))
    }

    /// Returns the revision of the newest change.
    ///
    /// # Errors
    /// The first node does not answer.
    pub fn revision(&self) -> Result<u64, String> {
        let revision = &self.status()?["header"]["revision"];
        revision.as_str().and_then(|number| number.parse().ok()).ok_or(revision.to_string())
    }

    /// Forgets every change before the newest one.
    ///
    /// # Errors
    /// The first node does not answer.
    pub fn compact(&self) -> Result<(), String> {
        self.ask("kv/compaction", &json!({"revision": self.revision()?})).map(drop)
    }

    fn ask(&self, call: &str, question: &Value) -> Result<Value, String> {
        let answer = self.post(0, &format!("/v3/{call}"), &question.to_string())?;
        serde_json::from_str(&answer).map_err(|error| format!("{error}: {answer}"))
    }
}

/// Returns the range of one entry, or of a folder. In ASCII, `0` follows `/`.
fn range(key: &str) -> Value {
    let end = key.strip_suffix('/').map_or(String::new(), |folder| format!("{folder}0"));
    json!({"key": coded(key), "range_end": coded(&end)})
}

fn coded(text: &str) -> String {
    STANDARD.encode(text)
}

fn text(coded: &Value) -> Result<String, String> {
    let bytes = coded.as_str().and_then(|text| STANDARD.decode(text).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(format!("{coded} is not text"))
}
