//! What was acknowledged is there, once.

use std::{
    collections::{HashMap, HashSet},
    thread,
};

use serde_json::Value;

use crate::support::{
    catalogue::{everything, id_of},
    client::{Call, Client},
};

/// One addition that a writer tried.
pub(crate) struct Attempt {
    pub(crate) pet: Value,
    /// The idempotency key.
    pub(crate) key: Option<String>,
    /// The API key, unless it is the suite's own.
    pub(crate) stored: Option<String>,
    /// The animal as it came back; `None` if it is not known whether it was added.
    pub(crate) acknowledged: Option<Value>,
}

impl Attempt {
    /// The request, the same each time.
    pub(crate) fn call(&self, client: &Client) -> Call {
        let mut call = client.add(&self.pet);
        if let Some(key) = &self.key {
            call = call.header("idempotency-key", key);
        }
        self.stored.iter().fold(call, |call, key| call.key(key))
    }
}

/// Holds that every acknowledged animal is there once, with its fields, and that nothing else is
/// but what a writer had no answer to; before all keys are sent again, and after.
#[track_caller]
pub(crate) fn balances(what: &str, client: &Client, attempts: &[Attempt]) {
    everything_is_there(client, attempts);
    keys_are_replayed(client, attempts);
    everything_is_there(client, attempts);
    let unknown = attempts.iter().filter(|attempt| attempt.acknowledged.is_none()).count();
    let keyed = attempts.iter().filter(|attempt| attempt.key.is_some()).count();
    petstore_testing::say(&format!(
        "failover: {what}: {} animals acknowledged, {keyed} of them by key; {unknown} without a 201",
        attempts.len() - unknown
    ));
}

#[track_caller]
fn everything_is_there(client: &Client, attempts: &[Attempt]) {
    let all = everything(client);
    let ids: HashSet<i64> = all.iter().map(id_of).collect();
    assert_eq!(ids.len(), all.len(), "an identifier is there twice");
    let mut by_name: HashMap<&str, Vec<&Value>> = HashMap::new();
    for pet in &all {
        by_name.entry(pet["name"].as_str().unwrap()).or_default().push(pet);
    }
    for attempt in attempts {
        let found = by_name.remove(attempt.pet["name"].as_str().unwrap()).unwrap_or_default();
        match &attempt.acknowledged {
            Some(pet) => assert_eq!(found, [pet]),
            None => assert!(found.len() <= 1, "{found:?}"),
        }
        for pet in found {
            let mut expected = attempt.pet.clone();
            expected["id"] = pet["id"].clone();
            assert_eq!(pet, &expected);
        }
    }
    assert!(by_name.is_empty(), "nobody added {by_name:?}");
}

/// Sends every request that has a key again, as a client would that does not know what happened.
fn keys_are_replayed(client: &Client, attempts: &[Attempt]) {
    thread::scope(|scope| {
        for part in attempts.chunks(attempts.len().div_ceil(8).max(1)) {
            scope.spawn(move || {
                for attempt in part.iter().filter(|attempt| attempt.key.is_some()) {
                    let answer = attempt.call(client).send().is(201);
                    assert_eq!(answer.must("idempotency-replayed"), "true");
                    assert_eq!(Some(answer.json()), attempt.acknowledged);
                }
            });
        }
    });
}
