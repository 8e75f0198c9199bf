//! Additions that a test tried, and what must be there of them.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    catalogue::{STATUSES, everything, id_of},
    client::{Call, Client},
};

/// One addition that a writer tried.
pub(crate) struct Addition {
    pub(crate) pet: Value,
    /// The idempotency key.
    pub(crate) key: Option<String>,
    /// The API key, unless it is the suite's own.
    pub(crate) api_key: Option<String>,
    /// The animal as it came back; `None` if it is not known whether it was added.
    pub(crate) acknowledged: Option<Value>,
}

impl Addition {
    /// An animal that no other writer adds, with an idempotency key or without.
    pub(crate) fn new(name: &str, number: usize, with_key: bool) -> Self {
        let mut pet = json!({"name": name, "categoryId": number});
        if let Some(status) = STATUSES.get(number % 4) {
            pet["status"] = (*status).into();
        }
        let key = with_key.then(|| name.replace(' ', "-"));
        Self { pet, key, api_key: None, acknowledged: None }
    }

    /// The request, the same each time.
    pub(crate) fn call(&self, client: &Client) -> Call {
        let mut call = client.add(&self.pet);
        if let Some(key) = &self.key {
            call = call.header("idempotency-key", key);
        }
        self.api_key.iter().fold(call, |call, key| call.key(key))
    }
}

/// Holds that every acknowledged animal is there once, with its fields, and that nothing else is
/// but what a writer had no answer to.
#[track_caller]
pub(crate) fn everything_is_there(client: &Client, additions: &[Addition]) {
    let all = everything(client);
    let ids: HashSet<i64> = all.iter().map(id_of).collect();
    assert_eq!(ids.len(), all.len(), "an identifier is there twice");
    let mut by_name: HashMap<&str, Vec<&Value>> = HashMap::new();
    for pet in &all {
        by_name.entry(pet["name"].as_str().unwrap()).or_default().push(pet);
    }
    for addition in additions {
        let found = by_name.remove(addition.pet["name"].as_str().unwrap()).unwrap_or_default();
        match &addition.acknowledged {
            Some(pet) => assert_eq!(found, [pet]),
            None => assert!(found.len() <= 1, "{found:?}"),
        }
        for pet in found {
            let mut expected = addition.pet.clone();
            expected["id"] = pet["id"].clone();
            assert_eq!(pet, &expected);
        }
    }
    assert!(by_name.is_empty(), "no writer added {by_name:?}");
}
