//! An upgrade keeps all animals, API keys and idempotency records, and is refused while the store is in use. Other
//! commands refuse an old store. Backups from older releases can be restored.

use std::{fs, path::PathBuf};

use petstore_testing::needs;
use rusqlite::Connection;
use serde_json::Value;

use super::old::{self, Old};
use crate::support::{
    catalogue::{self, id_of, pet},
    command::petstore,
    disk::Disk,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
};

/// Returns the API keys without the times of their last use, which the test changes.
fn without_last_use(mut keys: Value) -> Value {
    for key in keys.as_array_mut().unwrap() {
        key["lastUsedAt"] = Value::Null;
    }
    keys
}

fn listed(store: &Store) -> Value {
    serde_json::from_str(&store.keys(&["list", "--output", "json"]).succeeds()).unwrap()
}

fn exported(store: &Store) -> String {
    petstore(&["export", "--store", &store.url]).finish().succeeds()
}

/// Asserts that a service on the store has every animal, API key and idempotency record of the old release.
#[track_caller]
fn serves_everything(old: &Old, server: &Server) {
    let client = server.client();
    let name = &old.name;
    let full = old.secret("full");
    let lines: Vec<Value> =
        old.animals.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pages = client.get("/v1/pets?limit=100").key(full).send().is(200);
    assert_eq!(catalogue::pets(&pages), lines, "{name}");
    for status in catalogue::STATUSES {
        let page = client.get(&format!("/v1/pets?limit=100&status={status}")).key(full).send();
        let of_status: Vec<_> =
            lines.iter().filter(|pet| pet["status"] == status).cloned().collect();
        assert_eq!(catalogue::pets(&page.is(200)), of_status, "{name}");
    }
    for (key, reads, adds) in [
        ("full", 200, 400),
        ("later", 200, 400),
        ("old", 200, 400),
        ("new", 200, 400),
        ("reader", 200, 403),
        ("expired", 401, 401),
        ("revoked", 401, 401),
    ] {
        let secret = old.secret(key);
        assert_eq!(client.get("/v1/pets").key(secret).send().status, reads, "{name}: {key}");
        let empty = client.post("/v1/pets", "{}").key(secret).send();
        assert_eq!(empty.status, adds, "{name}: {key}");
    }
    for retry in &old.retries {
        let (secret, key) = (retry["secret"].as_str().unwrap(), retry["key"].as_str().unwrap());
        let again =
            |body: &Value| client.add(body).key(secret).header("idempotency-key", key).send();
        let replayed = again(&retry["body"]).is(201);
        assert_eq!(replayed.must("idempotency-replayed"), "true", "{name}: {key}");
        assert_eq!(id_of(&replayed.json()), retry["id"].as_i64().unwrap(), "{name}: {key}");
        again(&pet("Another")).refuses(422, "idempotency_key_reused");
    }
}

/// Asserts that the next animal gets an identifier above all others.
#[track_caller]
fn continues(old: &Old, server: &Server) {
    let highest = old.retries.iter().map(|retry| retry["id"].as_i64().unwrap()).max().unwrap();
    let next = server.client().add(&pet("Next")).key(old.secret("full")).send().is(201).json();
    assert!(id_of(&next) > highest, "{}: {next}", old.name);
}

fn a_service_upgrades_a_store_of_every_release_and_finds_everything(kind: Kind) {
    for old in old::each(kind) {
        let server = Launch::without_key(&old.store).start();
        serves_everything(&old, &server);
        holds(&old.store, &old);
        continues(&old, &server);
        let log = server.stop();
        let lines = log.lines().filter(|line| line.contains("upgraded the schema of the store"));
        let saves = kind == Kind::Sqlite;
        let current = petstore(&["upgrade", "--dry-run", "--store", &old.store.url]).finish();
        let current = current.succeeds();
        for line in lines.clone() {
            let logged = &serde_json::from_str::<Value>(line).unwrap()["fields"];
            assert!(logged["from"].as_u64() < logged["to"].as_u64(), "{line}");
            let to = format!(" is version {}: ", logged["to"]);
            assert!(current.contains(&to), "{}: {line} {current}", old.name);
            assert_eq!(logged["oldest_release"], "2.0.0", "{}", old.name);
            assert_eq!(logged.get("saved_to").is_some(), saves, "{}: {line}", old.name);
        }
        assert_eq!(lines.count(), usize::from(!old.is_current()), "{}: {log}", old.name);
        petstore(&["check", "--store", &old.store.url]).finish().succeeds();
    }
}

#[test]
fn only_serve_and_upgrade_upgrade() {
    for old in old::each(Kind::Sqlite).into_iter().filter(|old| !old.is_current()) {
        let (url, other) = (&old.store.url, Store::sqlite());
        let before = old.store.bytes();
        for words in [
            &["check", "--store", url][..],
            &["export", "--store", url],
            &["import", "--store", url],
            &["keys", "list", "--store", url],
            &["keys", "create", "web", "--store", url],
            &["keys", "revoke", "full", "--store", url],
            &["keys", "roll", "full", "--store", url],
            &["store", "copy", "--from", url, "--to", &other.url],
            &["store", "verify", "--from", url, "--to", &other.url],
            &["serve", "--no-upgrade", "--listen", "127.0.0.1:0", "--store", url],
        ] {
            let refusal = petstore(words).finish();
            let code = if words[0] == "serve" { 78 } else { 1 };
            assert_eq!(refusal.code, Some(code), "{words:?}: {refusal:?}");
            let last = refusal.stderr.lines().last().unwrap();
            assert!(last.contains("upgrade it with 'petstore upgrade'"), "{words:?}: {last}");
        }
        assert!(old.store.bytes() == before, "{}", old.name);
    }
}

/// The step to 2.0 would be unsafe beside a process of an older release.
#[test]
fn a_store_in_use_is_not_upgraded() {
    let old = Old::sqlite(&old::releases()[0]);
    let user = Connection::open(old.store.file()).unwrap();
    let pets: u32 = user.query_row("SELECT count(*) FROM pet", [], |row| row.get(0)).unwrap();
    assert!(pets > 0);
    for (words, code) in [("upgrade", 1), ("serve", 78)] {
        let refusal = petstore(&[words, "--store", &old.store.url]).finish();
        assert_eq!(refusal.code, Some(code), "{words}: {refusal:?}");
        let why = "another process has the store open";
        assert!(refusal.stderr.contains(why), "{words}: {refusal:?}");
    }
    petstore(&["upgrade", "--force", "--store", &old.store.url]).finish().succeeds();
    assert_eq!(exported(&old.store), old.animals);
}

#[test]
fn the_copy_made_by_an_upgrade_is_on_the_disk() {
    let (old, disk) = (Old::sqlite(&old::releases()[0]), Disk::new());
    let upgrade = || petstore(&["upgrade", "--store", &old.store.url]);
    upgrade().with_limit("-f 1").finish().fails(1, "raise the limit on the size of files");
    assert_eq!(upgrade().disk(&disk).finish().code, Some(0));
    let synced = disk.syncs();
    let is_copy = |path: &PathBuf| path.to_string_lossy().ends_with(".before-upgrade.partial");
    assert!(synced.iter().any(is_copy), "{synced:?}");
}

#[test]
fn a_backup_of_an_older_release_is_restored_unchanged() {
    for release in old::releases() {
        let old = Old::sqlite(&release);
        let (backup, restored) = (Store::sqlite(), Store::sqlite());
        let file = backup.file();
        let file = file.to_str().unwrap();
        petstore(&["backup", "--store", &old.store.url, "--to", file]).finish().succeeds();
        let said = petstore(&["restore", file, "--store", &restored.url]).finish().succeeds();
        let is_older = said.contains("upgrades its older schema");
        let is_refused = petstore(&["check", "--store", &backup.url]).finish().code == Some(1);
        assert_eq!(is_older, is_refused, "{release}: {said}");
        // The schema is still the schema of the old release.
        let version = |store: &Store| {
            let file = Connection::open(store.file()).unwrap();
            file.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0)).unwrap()
        };
        assert_eq!(version(&restored), version(&old.store), "{release}");
        petstore(&["upgrade", "--store", &restored.url]).finish().succeeds();
        holds(&restored, &old);
        assert_eq!(listed(&restored), old.keys, "{release}");
    }
}

/// Asserts that an upgraded store has the animals and API keys of the old release.
#[track_caller]
fn holds(store: &Store, old: &Old) {
    assert_eq!(exported(store), old.animals, "{}", old.name);
    assert_eq!(without_last_use(listed(store)), without_last_use(old.keys.clone()), "{}", old.name);
}

#[needs(postgres)]
#[test]
fn a_backup_of_an_older_release_is_restored_into_a_database() {
    for old in old::each(Kind::Sqlite) {
        let filled = Store::postgres();
        let file = old.store.file();
        let words = ["restore", file.to_str().unwrap(), "--store", &filled.url];
        let temporary = tempfile::tempdir().unwrap();
        let restore = petstore(&words).env("TMPDIR", temporary.path().to_str().unwrap());
        let said = restore.finish().succeeds();
        assert!(said.contains(" to postgres://") && said.ends_with(", found sound\n"), "{said}");
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
        holds(&filled, &old);
    }
}

on_stores!(lasting: a_service_upgrades_a_store_of_every_release_and_finds_everything);
