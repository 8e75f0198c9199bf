//! Failures of the store: 503 while it cannot answer, 500 for a row that breaks a rule.

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

/// A trigger that an operator created.
#[petstore_testing::needs(postgres)]
#[test]
fn a_permanent_refusal_of_the_store_has_no_retry_after() {
    let store = Store::postgres();
    let server = Launch::on(&store).start();
    store.vandalise(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no lions'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON pet EXECUTE FUNCTION refuse()",
    );
    let id = "the-request-of-a-lion";
    let request = server.client().add(&pet("Leo")).header("x-request-id", id);
    let refusal = request.send().refuses(500, "internal");
    assert_eq!(refusal.header("retry-after"), None, "{refusal:?}");
    let line = server.log_line(id).to_string();
    assert!(line.contains("no lions"), "{line}");
}

#[test]
fn only_the_log_describes_a_corrupt_row() {
    let (store, server) = Server::on_file();
    let client = server.client();
    let (good, bad) = (id_of(&add(&client, &pet("good"))), id_of(&add(&client, &pet("bad"))));
    let vandal = Connection::open(store.file()).unwrap();
    vandal.busy_timeout(wait::LIMIT).unwrap();
    vandal.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
    let sql = format!("UPDATE pet SET name = '' WHERE id = {bad}");
    assert_eq!(vandal.execute(&sql, []).unwrap(), 1);

    let target = format!("/v1/pets/{bad}");
    wait::until("the server sees the row", || client.get(&target).send().status == 500);
    let id = "the-request-that-met-it";
    for target in [target.as_str(), "/v1/pets"] {
        let refusal = client.get(target).header("x-request-id", id).send();
        let refusal = refusal.refuses(500, "internal");
        for word in ["name", "row", "store", "character", "corrupt", "animal"] {
            assert!(!refusal.message().to_lowercase().contains(word), "{refusal:?}");
        }
    }
    let line = server.log_line(id).to_string();
    assert!(line.contains(&format!("animal {bad}")), "{line}");
    client.get(&format!("/v1/pets/{good}")).send().is(200);
    client.get("/v1/pets?limit=1").send().is(200);
}
