//! Stores of older releases, and their content.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::support::store::{Kind, Store};

/// A copy of a store that a release has made.
pub(crate) struct Old {
    pub(crate) store: Store,
    /// The animals, as `export` wrote them.
    pub(crate) animals: String,
    /// The API keys, as `keys list` showed them.
    pub(crate) keys: Value,
    /// The secrets of the API keys, by their use in the tests.
    pub(crate) secrets: Value,
    /// The additions with idempotency keys, and the identifiers of their animals.
    pub(crate) retries: Vec<Value>,
    /// The kind of store and the release, for messages.
    pub(crate) name: String,
}

/// Returns the folder of the fixtures.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/upgrades")
}

/// Returns the releases with fixtures, ascending.
pub(crate) fn releases() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut releases: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    releases.retain(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    releases.sort();
    releases
}

/// The release under test.
pub(crate) const CURRENT: &str = env!("CARGO_PKG_VERSION");

/// Returns a copy of each release's store of this kind. Releases before 1.2.0 have no etcd stores.
pub(crate) fn each(kind: Kind) -> Vec<Old> {
    let since = if kind == Kind::Etcd { "1.2.0" } else { "" };
    let releases = releases().into_iter().filter(|release| release.as_str() >= since);
    let found: Vec<_> = releases.map(|release| Old::new(&release, kind)).collect();
    assert!(!found.is_empty());
    found
}

impl Old {
    pub(crate) fn sqlite(release: &str) -> Self {
        let store = Store::sqlite();
        fs::copy(folder().join(release).join("sqlite.store"), store.file()).unwrap();
        Self::of(release, "sqlite", store)
    }

    fn new(release: &str, kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::sqlite(release),
            Kind::Postgres => Self::postgres(release),
            Kind::Etcd => Self::etcd(release),
            Kind::Memory => unreachable!("its data ends with the process"),
        }
    }

    fn postgres(release: &str) -> Self {
        let store = Store::postgres();
        let dump = fs::read_to_string(folder().join(release).join("postgres.sql")).unwrap();
        store.damage(&dump);
        Self::of(release, "postgres", store)
    }

    fn etcd(release: &str) -> Self {
        let entries = fs::read_to_string(folder().join(release).join("etcd.store")).unwrap();
        let store = Store::etcd();
        // Idempotency records expire after 24 hours, so they are made younger.
        let now = now();
        for line in entries.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let [key, value] = ["key", "value"].map(|field| entry[field].as_str().unwrap());
            let mut parsed: Value = serde_json::from_str(value).unwrap_or_default();
            match key.split('/').collect::<Vec<_>>()[..] {
                ["records", _] => {
                    parsed["at"] = json!(now);
                    store.put(key, &parsed.to_string());
                }
                ["expiry", _, group] => {
                    for record in parsed.as_array_mut().unwrap() {
                        record[1] = json!(now);
                    }
                    store.put(&format!("expiry/8{now:015x}/{group}"), &parsed.to_string());
                }
                _ => store.put(key, value),
            }
        }
        Self::of(release, "etcd", store)
    }

    fn of(release: &str, kind: &str, store: Store) -> Self {
        let read = |end: &str| {
            fs::read_to_string(folder().join(release).join(format!("{kind}.{end}"))).unwrap()
        };
        let held: Value = serde_json::from_str(&read("json")).unwrap();
        // Idempotency records expire after 24 hours, so they are made younger.
        if kind != "etcd" {
            store.damage(&format!("UPDATE idempotency SET created_at = {}", now()));
        }
        Self {
            store,
            animals: read("ndjson"),
            keys: held["keys"].clone(),
            secrets: held["secrets"].clone(),
            retries: held["retries"].as_array().unwrap().clone(),
            name: format!("{kind} of {release}"),
        }
    }

    /// Returns whether the release under test has made the store.
    pub(crate) fn is_current(&self) -> bool {
        self.name.ends_with(CURRENT)
    }

    pub(crate) fn secret(&self, of: &str) -> &str {
        self.secrets[of].as_str().unwrap()
    }
}

/// Returns the milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the service compares records with the system's clock"
)]
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    i64::try_from(now).unwrap()
}
