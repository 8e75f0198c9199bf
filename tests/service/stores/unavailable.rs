//! A store that another process has locked: 503 while it cannot answer.

use std::thread;

use rusqlite::Connection;

use crate::support::{
    catalogue::{add, everything, id_of, pet},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Blocks all other writers until it is dropped.
fn lock(store: &Store) -> Connection {
    let connection = Connection::open(store.file()).unwrap();
    connection.busy_timeout(wait::LIMIT).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn a_locked_store_is_unavailable_for_writes_until_the_lock_is_gone() {
    let store = Store::sqlite();
    let server = Launch::on(&store).flag("--request-timeout", "700ms").start();
    let client = server.client();
    let before = add(&client, &pet("before"));
    let once = client.add(&pet("once")).header("idempotency-key", "once");

    let held = lock(&store);
    let id = "the-request-that-waited";
    let refusal = once.clone().header("x-request-id", id).send().refuses(503, "unavailable");
    let seconds: u32 = refusal.must("retry-after").parse().unwrap();
    assert!((1..=120).contains(&seconds), "{refusal:?}");
    for word in ["sqlite", "lock", "busy", "database"] {
        assert!(!refusal.message().to_lowercase().contains(word), "{refusal:?}");
    }
    // The service's limit applies, not SQLite's own wait for the lock.
    let line = server.log_line(id).to_string();
    assert!(line.contains("took longer than 700ms"), "{line}");
    // Reads still work.
    assert_eq!(everything(&client)[0], before);
    client.get(&format!("/v1/pets/{}", id_of(&before))).send().is(200);
    drop(held);

    wait::until("the store answers again", || once.clone().send().status == 201);
    let named = everything(&client).into_iter().filter(|pet| pet["name"] == "once");
    assert_eq!(named.count(), 1);
}

#[test]
fn a_write_waits_for_a_short_lock() {
    let (store, server) = Server::on_file();
    add(&server.client(), &pet("before"));
    let held = lock(&store);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| server.client().add(&pet("patient")).send());
        thread::sleep(std::time::Duration::from_millis(200));
        drop(held);
        waiting.join().unwrap().is(201);
    });
}
