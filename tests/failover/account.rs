//! What was acknowledged is there, once.

use std::thread;

use crate::support::{
    additions::{Addition, everything_is_there},
    client::Client,
};

/// Holds that every acknowledged animal is there once, with its fields, and that nothing else is
/// but what a writer had no answer to; before all keys are sent again, and after.
#[track_caller]
pub(crate) fn balances(what: &str, client: &Client, additions: &[Addition]) {
    everything_is_there(client, additions);
    keys_are_replayed(client, additions);
    everything_is_there(client, additions);
    let unknown = additions.iter().filter(|addition| addition.acknowledged.is_none()).count();
    let keyed = additions.iter().filter(|addition| addition.key.is_some()).count();
    petstore_testing::say(&format!(
        "failover: {what}: {} animals acknowledged, {keyed} of them by key; {unknown} without a 201",
        additions.len() - unknown
    ));
}

/// Sends every request that has a key again, as a client would that does not know what happened.
fn keys_are_replayed(client: &Client, additions: &[Addition]) {
    thread::scope(|scope| {
        for part in additions.chunks(additions.len().div_ceil(8).max(1)) {
            scope.spawn(move || {
                for addition in part.iter().filter(|addition| addition.key.is_some()) {
                    let answer = addition.call(client).send().is(201);
                    assert_eq!(answer.must("idempotency-replayed"), "true");
                    assert_eq!(Some(answer.json()), addition.acknowledged);
                }
            });
        }
    });
}
