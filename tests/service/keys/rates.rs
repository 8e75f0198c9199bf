//! The rate limit of each API key.

use crate::support::{KEY, catalogue::pet, client::Client, server::Launch, store::Store, wait};

/// Returns the status of a list with `key`.
fn status(client: &Client, key: &str) -> u16 {
    client.get("/v1/pets").key(key).send().status
}

#[test]
fn a_key_over_its_rate_is_refused_and_another_key_is_not() {
    let store = Store::sqlite();
    let other = store.new_key("other");
    let server = Launch::on(&store).flag("--rate-limit", "1").start();
    let client = server.client();
    let mut added = 0;
    wait::until("an addition is refused", || {
        let answer = client.add(&pet("fast")).send();
        added += usize::from(answer.status == 201);
        if answer.status == 201 {
            return false;
        }
        assert_eq!(answer.must("retry-after"), "1");
        answer.refuses(429, "rate_limited");
        true
    });
    // No refused animal is added.
    let list = client.get("/v1/pets").key(&other).send().is(200).json();
    assert_eq!(list.as_array().unwrap().len(), added);
    wait::until("the key gets another turn", || status(&client, KEY) == 200);
}
