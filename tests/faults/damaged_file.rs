//! A store whose file another program damages, truncates or vacuums.

use std::fs;

use serde_json::Value;

use crate::support::{
    catalogue::{add, everything, id_of, pet},
    server::{Launch, Server},
    store::{Store, is_sound},
    wait,
};

/// The page size of the SQLite file, in bytes.
const PAGE: usize = 4096;
/// The number of animals, enough for many pages of the file.
const ANIMALS: usize = 300;

/// Returns a store whose service has stopped and whose file has many pages, the bytes of the file, and the animals.
fn large() -> (Store, Vec<u8>, Vec<Value>) {
    let (store, server) = Server::on_file();
    let client = server.client();
    let name = |number| format!("{number:04} {}", "x".repeat(200));
    let pets: Vec<_> = (0..ANIMALS).map(|number| add(&client, &pet(&name(number)))).collect();
    server.stop();
    let bytes = fs::read(store.file()).unwrap();
    assert!(bytes.len() > 10 * PAGE);
    (store, bytes, pets)
}

/// Returns `bytes` with noise in place of the file page that contains the name of `animal`.
fn with_damage(bytes: &[u8], animal: &Value) -> Vec<u8> {
    let name = animal["name"].as_str().unwrap().as_bytes();
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    let mut damaged = bytes.to_vec();
    damaged[at / PAGE * PAGE..][..PAGE].fill(0xA5);
    damaged
}

#[test]
fn a_damaged_page_fails_only_the_requests_for_it_until_a_repair() {
    let (store, whole, pets) = large();
    let (first, last) = (&pets[0], &pets[ANIMALS - 1]);
    fs::write(store.file(), with_damage(&whole, last)).unwrap();
    let server = Launch::on(&store).start();
    let client = server.client();
    let get = |pet: &Value| client.get(&format!("/v1/pets/{}", id_of(pet))).send();
    let id = "the-request-that-met-it";
    for _ in 0..3 {
        // SQLite puts a new animal on the file page of the last animal.
        client.add(&pet("refused")).header("x-request-id", id).send().refuses(503, "unavailable");
        get(last).refuses(503, "unavailable");
        assert_eq!(&get(first).is(200).json(), first);
        client.get("/v1/pets?limit=3").send().is(200);
        client.get("/readyz").send().is(200);
    }
    let line = server.log_line(id).to_string();
    assert!(line.contains("malformed"), "{line}");

    fs::write(store.file(), &whole).unwrap();
    let after = add(&client, &pet("after"));
    assert_eq!(&get(last).is(200).json(), last);
    let expected = [&pets[..], &[after]].concat();
    assert_eq!(everything(&client), expected);
    server.stop();
    is_sound(&store.file());
}

#[petstore_testing::needs(time)]
#[test]
fn an_open_file_that_was_truncated_refuses_writes_until_a_repair() {
    let (store, whole, pets) = large();
    // Every request is logged. Otherwise the many requests to `/readyz` would use up the log lines for failures.
    let server = Launch::on(&store).flag("--access-log", "all").start();
    let client = server.client();
    let before = add(&client, &pet("before"));
    let file = fs::OpenOptions::new().write(true).open(store.file()).unwrap();
    for length in [whole.len() / 2 / PAGE * PAGE, 10, 0] {
        file.set_len(length as u64).unwrap();
        let id = format!("refused-at-{length}");
        let refused = client.add(&pet("refused")).header("x-request-id", &id).send();
        refused.refuses(503, "unavailable");
        let line = server.log_line(&id).to_string();
        assert!(line.contains("petstore.db was truncated"), "{line}");
        wait::until("the service is not ready", || client.get("/readyz").send().status == 503);
        client.get("/livez").send().is(200);

        fs::write(store.file(), &whole).unwrap();
        wait::until("the service is ready", || client.get("/readyz").send().status == 200);
    }
    let after = add(&client, &pet("after"));
    let expected = [&pets[..], &[before, after]].concat();
    assert_eq!(everything(&client), expected);
    server.stop();
    is_sound(&store.file());
}

#[test]
fn a_file_vacuumed_by_another_process_is_whole() {
    let (store, ..) = large();
    let server = Launch::on(&store).start();
    add(&server.client(), &pet("before"));
    store.damage("DELETE FROM pet WHERE id > 10; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    let length = fs::metadata(store.file()).unwrap().len();
    assert!(length < 20 * PAGE as u64, "the file has {length} bytes");
    add(&server.client(), &pet("after"));
    assert_eq!(everything(&server.client()).len(), 11);
}
