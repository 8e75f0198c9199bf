//! API keys: created, rolled and revoked while the server runs.
//!
//! The server honors a change within one second.

use std::{thread, time::Duration};

use serde_json::Value;

use crate::support::{
    catalogue::pet,
    client::Client,
    command::petstore,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    lasting:
    a_new_key_works_at_its_first_use,
    a_revoked_key_is_refused_by_name_or_identifier,
    a_key_expires_by_itself,
    a_rolled_key_overlaps_with_the_new_one,
    a_store_that_keys_create_makes_is_named_in_full,
    a_key_that_expires_soon_is_marked_and_logged,
    a_key_that_may_only_read_adds_nothing,
    #[petstore_testing::needs(quiet)]
    a_new_key_and_a_revoked_one_count_within_a_second,
}

fn status(client: &Client, key: &str) -> u16 {
    client.get("/v1/pets").key(key).send().status
}

/// Waits until the answer to `key` has the status `wanted`.
#[track_caller]
fn becomes(client: &Client, key: &str, wanted: u16) {
    wait::until("the server notices the change", || status(client, key) == wanted);
}

fn a_new_key_and_a_revoked_one_count_within_a_second(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let (second, key) = (Duration::from_secs(1), store.new_key("web"));
    wait::within(second, "the key is known", || status(&client, &key) == 200);
    store.keys(&["revoke", "web"]).succeeds();
    wait::within(second, "the key is refused", || status(&client, &key) == 401);
}

#[test]
fn a_key_has_the_documented_form_and_is_printed_alone() {
    let store = Store::sqlite();
    let out = store.keys(&["create", "web"]).succeeds();
    let key = out.strip_suffix('\n').unwrap();
    let body = key.strip_prefix("pst_").unwrap();
    assert_eq!(body.len(), 32 + 6);
    assert!(body.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
    assert_ne!(store.new_key("other"), key);
}

fn a_new_key_works_at_its_first_use(kind: Kind) {
    let store = Store::new(kind);
    let server = Launch::on(&store).start();
    let clients = [server.client(), server.http2()];
    for number in 0..8 {
        // Other requests keep the cached keys fresh. Each round begins at another moment between two reads of the keys.
        clients[0].get("/v1/pets").send().is(200);
        thread::sleep(Duration::from_millis(67) * number);
        clients[0].get("/v1/pets").send().is(200);
        let key = store.new_key(&format!("key-{number}"));
        let client = &clients[number as usize % clients.len()];
        assert_eq!(client.get("/v1/pets").key(&key).send().status, 200, "key {number}");
    }
}

fn a_revoked_key_is_refused_by_name_or_identifier(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let (first, second) = (store.new_key("first"), store.new_key("second"));
    becomes(&client, &first, 200);
    becomes(&client, &second, 200);

    store.keys(&["revoke", "first"]).succeeds();
    becomes(&client, &first, 401);
    assert_eq!(status(&client, &second), 200);
    store.keys(&["revoke", "2"]).succeeds();
    becomes(&client, &second, 401);
    // The names of revoked keys are free again.
    let third = store.new_key("first");
    becomes(&client, &third, 200);
    assert_eq!(status(&client, &first), 401);
}

fn a_key_expires_by_itself(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let long = store.keys(&["create", "long", "--expires", "90d"]).succeeds();
    store.keys(&["create", "brief", "--expires", "6s"]).succeeds();
    // The new key expires as late as the old key.
    let brief = store.keys(&["roll", "brief"]);
    assert!(brief.stderr.contains("accepts it within a second. It is valid until 2"), "{brief:?}");
    let brief = brief.succeeds();
    let (brief, long) = (brief.trim_end(), long.trim_end());
    assert_eq!(status(&client, brief), 200);
    wait::until("the key expires", || status(&client, brief) == 401);
    assert_eq!(status(&client, long), 200);
}

fn a_rolled_key_overlaps_with_the_new_one(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let old = store.new_key("web");
    becomes(&client, &old, 200);
    let new = store.keys(&["roll", "web", "--overlap", "24h"]).succeeds();
    let new = new.trim_end();
    assert_ne!(old, new);
    becomes(&client, new, 200);
    assert_eq!(status(&client, &old), 200);

    let newest = store.keys(&["roll", "web", "--overlap", "2s"]).succeeds();
    let newest = newest.trim_end();
    wait::until("the overlap ends", || status(&client, new) == 401 && status(&client, &old) == 401);
    assert_eq!(status(&client, newest), 200);
}

#[test]
fn a_list_tells_keys_apart_without_giving_them_away() {
    let store = Store::sqlite();
    let keys = ["web", "batch"].map(|name| (name, store.new_key(name)));
    store.keys(&["revoke", "batch"]).succeeds();
    let list = store.keys(&["list"]).succeeds();
    for (name, key) in keys {
        let line = list.lines().find(|line| line.contains(name)).unwrap();
        assert!(line.contains(&key[..8]), "{list}");
        assert!(!list.contains(&key[..9]), "{list}");
        assert_eq!(line.contains("revoked"), name == "batch", "{list}");
    }
}

#[test]
fn failed_key_commands_report_the_reason_in_one_line() {
    let store = Store::sqlite();
    store.new_key("web");
    store.keys(&["create", "web"]).fails(1, "web");
    store.keys(&["revoke", "nobody"]).fails(1, "nobody");
    store.keys(&["revoke", "99"]).fails(1, "99");
    store.keys(&["roll", "nobody", "--overlap", "1h"]).fails(1, "nobody");
    store.keys(&["create", "7up"]).fails(2, "7up");
    store.keys(&["create", "two words"]).fails(2, "two words");
    store.keys(&["create", "x", "--expires", "soon"]).fails(2, "soon");
    store.keys(&["create", "x", "--expires", "90"]).fails(2, "write 90d for 90 days");
}

fn a_store_that_keys_create_makes_is_named_in_full(kind: Kind) {
    let store = Store::new(kind);
    let made = store.keys(&["create", "web"]);
    let place = if store.url.starts_with("postgres:") { "postgres://" } else { &store.url };
    let line = format!("made a new store: {place}");
    assert!(made.stderr.starts_with(&line), "{made:?}");
    assert!(!store.keys(&["create", "other"]).stderr.contains("made a new store"));
    let log = Launch::on(&Store::new(kind)).start().stop();
    assert!(log.contains("made a new store"), "{log}");
}

fn a_key_that_expires_soon_is_marked_and_logged(kind: Kind) {
    let store = Store::new(kind);
    for (name, lifetime) in [("soon", "3d"), ("later", "90d"), ("rolled", "3d")] {
        store.keys(&["create", name, "--expires", lifetime]).succeeds();
    }
    store.keys(&["roll", "rolled", "--expires", "90d"]).succeeds();
    let list = store.keys(&["list"]).succeeds();
    let marked: Vec<_> = list.lines().filter(|line| line.contains("(soon)")).collect();
    assert!(marked.len() == 1 && marked[0].contains("soon"), "{list}");
    let list: Value =
        serde_json::from_str(&store.keys(&["list", "--output", "json"]).succeeds()).unwrap();
    let soon = list.as_array().unwrap().iter().map(|key| key["expiresSoon"].as_bool().unwrap());
    assert_eq!(soon.collect::<Vec<_>>(), [true, false, false, false], "{list}");
    assert_eq!(list[3]["name"], "rolled");

    let server = Launch::on(&store).start();
    wait::until("the key is logged", || server.log().contains("an API key expires soon"));
    let log = server.stop();
    let lines = log.lines().filter(|line| line.contains("an API key expires soon"));
    let marked = |line: &str| line.contains("\"soon\"") && line.contains("\"hours_left\":71}");
    assert_eq!(lines.map(marked).collect::<Vec<_>>(), [true], "{log}");
}

#[test]
fn a_relative_path_is_shown_in_full() {
    let store = Store::sqlite();
    let file = store.file();
    let folder = env!("CARGO_TARGET_TMPDIR");
    let up = "../".repeat(folder.matches('/').count());
    let url = format!("sqlite:{up}{}", file.strip_prefix("/").unwrap().display());
    let made = Store::at(&url).keys(&["create", "web"]);
    assert!(made.stderr.starts_with(&format!("made a new store: sqlite:{folder}/../")), "{made:?}");
}

#[test]
fn a_limit_on_the_size_of_files_is_reported_and_kills_nothing() {
    let store = Store::sqlite();
    store.new_key("web");
    let create = petstore(&["keys", "create", "more", "--store", &store.url]);
    create.with_no_larger_files_than(1).finish().fails(1, "raise the limit on the size of files");
    assert!(!store.keys(&["list"]).succeeds().contains("more"));
}

#[test]
fn a_key_that_cannot_be_made_leaves_no_new_store() {
    let create = |store: &Store| petstore(&["keys", "create", "web", "--store", &store.url]);
    // Some of these limits prevent the store file, and others its companion files.
    for blocks in [0, 1, 40, 70, 100] {
        let store = Store::sqlite();
        let failed = create(&store).with_no_larger_files_than(blocks).finish();
        failed.fails(1, "cannot open the store");
        assert!(!store.is_made(), "{blocks}");
        store.new_key("web");
    }
    let store = Store::sqlite();
    let lost = create(&store).with_full_stdout().finish();
    assert!(lost.code == Some(1) && lost.stderr.contains("was revoked"), "{lost:?}");
    assert!(store.is_made(), "the store stays, although nobody saw its key");
}

fn a_key_that_may_only_read_adds_nothing(kind: Kind) {
    let (store, server) = Server::start(kind);
    let made = store.keys(&["create", "report", "--read-only"]);
    assert!(made.stderr.contains("It may only read."), "{made:?}");
    let first = made.succeeds().trim_end().to_owned();
    assert!(first.starts_with("psr_"), "{first}");
    let full = store.new_key("web");
    let rolled = store.keys(&["roll", "report"]).succeeds().trim_end().to_owned();
    for client in [server.client(), server.http2()] {
        for key in [&first, &rolled] {
            becomes(&client, key, 200);
            client.head("/v1/pets").key(key).send().is(200);
            client.options("/v1/pets").key(key).send().is(204);
            client.get("/v1/pets/0").key(key).send().refuses(404, "pet_not_found");
            client.call("DELETE", "/v1/pets").key(key).send().refuses(405, "method_not_allowed");
            client.add(&pet("Rex")).key(key).send().refuses(403, "forbidden");
            // The refusal comes before any check of the body.
            let text = client.post("/v1/pets", "{").content_type("text/plain");
            text.key(key).send().refuses(403, "forbidden");
        }
        let raised = first.replacen("psr_", "pst_", 1);
        client.add(&pet("Rex")).key(&raised).send().refuses(401, "unauthorized");
        client.get("/v1/pets").key(&full).send().is(200);
    }
    assert_eq!(server.client().get("/v1/pets").send().json(), serde_json::json!([]));
    server.client().add(&pet("Rex")).key(&full).send().is(201);

    let rights = |store: &Store| -> Vec<String> {
        let list = store.keys(&["list", "--output", "json"]).succeeds();
        let list: Value = serde_json::from_str(&list).unwrap();
        let keys = list.as_array().unwrap().iter();
        keys.map(|key| key["rights"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rights(&store), ["read-only", "full", "read-only"]);
    let table = store.keys(&["list"]).succeeds();
    assert_eq!(table.lines().filter(|line| line.ends_with("  read-only")).count(), 2, "{table}");
    let copy = Store::sqlite();
    petstore(&["store", "copy", "--from", &store.url, "--to", &copy.url]).finish().succeeds();
    assert_eq!(rights(&copy), rights(&store));
    let copied = Launch::on(&copy).start();
    copied.client().add(&pet("Rex")).key(&first).send().refuses(403, "forbidden");
    copied.client().get("/v1/pets").key(&first).send().is(200);
}
