//! Opens stores on throw-away nodes, and reads and changes entries without petstore.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_domain::{
    Added, CategoryId, NewPet, PageLimit, Pet, PetName, PetQuery, PetRepository, StoreError,
};
use petstore_etcd::{EtcdConfig, EtcdStore, OpenSettings};
use petstore_testing::Etcd;

pub(crate) async fn try_open(url: &str, create: bool) -> Result<EtcdStore, String> {
    let config = EtcdConfig::parse(url).unwrap();
    let settings = OpenSettings { create, ..OpenSettings::default() };
    EtcdStore::open(&config, settings).await.map_err(|error| error.to_string())
}

pub(crate) async fn open(url: &str) -> EtcdStore {
    try_open(url, true).await.unwrap()
}

/// Returns the reason why a store is not opened, and will not be without a change by the operator.
pub(crate) async fn refusal(url: &str) -> String {
    let config = EtcdConfig::parse(url).unwrap();
    let settings = OpenSettings { create: true, ..OpenSettings::default() };
    let error = EtcdStore::open(&config, settings).await.map(drop).unwrap_err();
    let message = error.to_string();
    assert!(matches!(StoreError::from(error), StoreError::Refused(_)), "{message}");
    message
}

pub(crate) fn url(etcd: &Etcd) -> String {
    format!("etcd://{}/zoo", etcd.endpoints())
}

/// Puts an entry directly, not through the store.
pub(crate) fn put(etcd: &Etcd, key: &str, value: &str) {
    let [key, value] = [key, value].map(|text| STANDARD.encode(text));
    etcd.post(0, "/v3/kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#)).unwrap();
}

/// Replaces an entry directly, not through the store, if its value is still `old`. Returns whether it was.
pub(crate) fn replace(etcd: &Etcd, key: &str, old: &str, new: &str) -> bool {
    let [key, old, new] = [key, old, new].map(|text| STANDARD.encode(text));
    let compare = format!(r#"{{"key":"{key}","target":"VALUE","result":"EQUAL","value":"{old}"}}"#);
    let success = format!(r#"{{"request_put":{{"key":"{key}","value":"{new}"}}}}"#);
    let txn = format!(r#"{{"compare":[{compare}],"success":[{success}]}}"#);
    let answer = etcd.post(0, "/v3/kv/txn", &txn).unwrap();
    serde_json::from_str::<serde_json::Value>(&answer).unwrap()["succeeded"] == true
}

pub(crate) fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

/// Adds an animal, which must be new.
pub(crate) async fn add(store: &EtcdStore) -> Pet {
    match PetRepository::add(store, rex(), None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} is a repeat, not new"),
    }
}

/// Returns the first hundred animals.
pub(crate) async fn page(store: &EtcdStore) -> Vec<Pet> {
    let query = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
    PetRepository::list(store, query).await.unwrap().value.pets
}

/// Deletes an entry directly, not through the store.
pub(crate) fn delete(etcd: &Etcd, key: &str) {
    let key = STANDARD.encode(key);
    etcd.post(0, "/v3/kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)).unwrap();
}

/// Deletes everything under the prefix `zoo`.
pub(crate) fn delete_all(etcd: &Etcd) {
    let [from, to] = ["zoo/", "zoo0"].map(|text| STANDARD.encode(text));
    let range = format!(r#"{{"key":"{from}","range_end":"{to}"}}"#);
    etcd.post(0, "/v3/kv/deleterange", &range).unwrap();
}

/// Returns every entry under the prefix `zoo`, ascending by key.
pub(crate) fn entries(etcd: &Etcd) -> Vec<(String, String)> {
    let [from, to] = ["zoo/", "zoo0"].map(|text| STANDARD.encode(text));
    let range = format!(r#"{{"key":"{from}","range_end":"{to}"}}"#);
    let answer = etcd.post(0, "/v3/kv/range", &range).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let text = |value: &serde_json::Value| {
        String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap()
    };
    let found = answer["kvs"].as_array().into_iter().flatten();
    found.map(|entry| (text(&entry["key"]), text(&entry["value"]))).collect()
}

/// Returns the status of the first node.
pub(crate) fn status(etcd: &Etcd) -> serde_json::Value {
    let status = etcd.post(0, "/v3/maintenance/status", "{}").unwrap();
    serde_json::from_str(&status).unwrap()
}

/// Returns the revision of the newest change.
pub(crate) fn revision(etcd: &Etcd) -> u64 {
    status(etcd)["header"]["revision"].as_str().unwrap().parse().unwrap()
}
