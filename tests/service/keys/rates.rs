//! The rate limit of each API key, and good keys beside many bad ones.

use std::{collections::BTreeMap, sync::Mutex, thread};

use crate::support::{
    KEY,
    catalogue::{add, everything, pet},
    client::Client,
    server::{Launch, Server},
    store::Store,
    wait,
};

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

/// Sends `count` requests with a wrong key from each of `clients` clients, and returns the number of answers with each
/// status. Asserts that another client with a good key always gets 200.
fn strangers(server: &Server, clients: usize, count: usize) -> BTreeMap<u16, usize> {
    let client = server.client();
    let statuses = Mutex::new(BTreeMap::new());
    let ask = || {
        for _ in 0..count {
            let status = status(&server.client(), "wrong-key-wrong-key");
            *statuses.lock().unwrap().entry(status).or_default() += 1;
        }
    };
    let honest = || assert_eq!(status(&client, KEY), 200);
    honest();
    wait::beside(1, honest, || {
        thread::scope(|scope| (0..clients).for_each(|_| drop(scope.spawn(ask))));
    });
    statuses.into_inner().unwrap()
}

#[test]
fn a_good_key_is_served_beside_hundreds_of_wrong_ones() {
    let (_store, server) = Server::in_memory();
    assert_eq!(strangers(&server, 64, 5), BTreeMap::from([(401, 320)]));
    add(&server.client(), &pet("served"));
    assert_eq!(everything(&server.client()).len(), 1);
}
