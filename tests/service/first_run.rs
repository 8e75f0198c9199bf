//! The first start of a service on a store without keys, and the key from the environment.

use std::{fs, process::Command};

use crate::support::{
    server::{Launch, Server},
    store::{Kind, Store, on_lasting_stores},
    wait,
};

on_lasting_stores! {
    the_first_start_shows_a_key_once_with_a_ready_command,
    no_key_is_made_where_there_is_one,
}

/// The keys among the words of a text.
fn keys_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("pst_")).map(str::to_owned).collect()
}

fn the_first_start_shows_a_key_once_with_a_ready_command(kind: Kind) {
    let store = Store::new(kind);
    let server = Launch::without_key(&store).start();
    let out = server.out();
    let keys = keys_in(&out);
    assert!(!keys.is_empty(), "{out}");
    assert!(keys.iter().all(|key| *key == keys[0]), "{out}");
    server.client().get("/v1/pets").key(&keys[0]).send().is(200);
    assert!(!server.log().contains(&keys[0]));

    let curl = out.lines().find(|line| line.trim().starts_with("curl ")).unwrap();
    assert!(curl.contains(&keys[0]) && curl.contains("/v1/pets"), "{curl}");
    if Command::new("curl").arg("--version").output().is_ok() {
        let listed = Command::new("sh").args(["-c", curl]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("[]"), "{curl}: {listed}");
    }
    assert!(store.keys(&["list"]).succeeds().contains("default"));
    server.stop();

    let server = Launch::without_key(&store).start();
    assert_eq!(keys_in(&server.out()), [""; 0]);
    server.client().get("/v1/pets").key(&keys[0]).send().is(200);
}

#[test]
fn a_store_in_memory_has_a_key_for_as_long_as_it_lives() {
    let store = Store::memory();
    let start = || {
        let server = Launch::without_key(&store).start();
        let key = keys_in(&server.out()).remove(0);
        server.client().get("/v1/pets").key(&key).send().is(200);
        key
    };
    assert_ne!(start(), start());
}

fn no_key_is_made_where_there_is_one(kind: Kind) {
    let store = Store::new(kind);
    store.new_key("web");
    let server = Launch::without_key(&store).start();
    assert_eq!(keys_in(&server.out()), [""; 0]);
    assert!(!store.keys(&["list"]).succeeds().contains("default"));
}

#[test]
fn no_key_is_made_where_the_environment_brings_one() {
    let (store, server) = Server::on_file();
    assert_eq!(keys_in(&server.out()), [""; 0]);
    server.client().get("/v1/pets").send().is(200);
    assert!(!store.keys(&["list"]).succeeds().contains("default"));
}

#[test]
fn a_key_can_come_from_a_file() {
    let (store, other) = (Store::sqlite(), Store::memory());
    let file = other.folder().join("key");
    fs::write(&file, "a-key-from-a-file-0123\n").unwrap();
    let launch = Launch::without_key(&store).flag("--api-key-file", file.to_str().unwrap());
    let server = launch.start();
    server.client().get("/v1/pets").key("a-key-from-a-file-0123").send().is(200);
    server.client().get("/v1/pets").send().is(401);
    assert_eq!(keys_in(&server.out()), [""; 0]);
}

#[test]
fn a_short_key_is_refused_and_not_shown() {
    for key in ["short-key-01234", "has a blank within it"] {
        let store = Store::sqlite();
        let refusal = Launch::without_key(&store).env("PETSTORE_API_KEY", key).finish();
        assert!(!refusal.stderr.contains(key), "{refusal:?}");
        refusal.fails(2, "API");
    }
    let store = Store::sqlite();
    Launch::without_key(&store).env("PETSTORE_API_KEY", "just-16-in-total").start().stop();
}

#[test]
fn a_store_without_a_live_key_is_served_with_a_warning() {
    let store = Store::sqlite();
    let warning = "no API key is live: make one with 'petstore keys create NAME'";
    store.new_key("web");
    let server = Launch::without_key(&store).start();
    assert!(!server.log().contains(warning), "{}", server.log());
    server.stop();
    store.keys(&["revoke", "web"]).succeeds();
    let server = Launch::without_key(&store).start();
    wait::until("the warning is logged", || server.log().contains(warning));
}
