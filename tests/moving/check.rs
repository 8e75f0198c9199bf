//! Findings of `check` in a store.

use super::{
    animals::many,
    commands::{import, made, run},
};
use crate::support::{
    catalogue,
    command::{Finished, ended, petstore},
    server::Launch,
    store::{Kind, Store, on_stores},
};

fn check(store: &Store) -> Finished {
    run(&["check", "--store", &store.url])
}

/// Adds an animal to a SQLite file, but not to its index `pet_sold`.
pub(super) fn damage_index(store: &Store) {
    let rewrite = |from: &str, to: &str| {
        store.damage(&format!(
            "PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'pet_sold'"
        ));
    };
    rewrite("''sold''", "''none''");
    store.damage("INSERT INTO pet (name, category_id, status) VALUES ('Rex', 1, 'sold')");
    rewrite("''none''", "''sold''");
}

/// Asserts that the check fails, and that one `FAULT` line of its output contains all of `words`.
#[track_caller]
fn names(store: &Store, words: &[&str]) {
    let Finished { code, stdout, stderr } = check(store);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let fault =
        |line: &&str| line.starts_with("FAULT ") && words.iter().all(|word| line.contains(word));
    assert!(stdout.lines().any(|line| fault(&line)), "{words:?}: {stdout}");
    assert!(stderr.contains(" found in "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn a_closed_output_pipe_does_not_fail_a_command_that_only_shows() {
    let store = made(Kind::Sqlite);
    for words in ["check", "keys list", "completions bash", "openapi", "--help"] {
        let words: Vec<_> = words.split(' ').collect();
        let mut running = petstore(&words).env("PETSTORE_STORE", &store.url).spawn();
        drop(running.stdout.take());
        assert_eq!(ended(running).code, Some(0), "{words:?}");
    }
}

fn a_sound_store_is_called_sound(kind: Kind) {
    let store = made(kind);
    import(&store.url, "ndjson", &many(7_000)).succeeds();
    store.new_key("web");
    store.new_key("shop");
    let said = check(&store).succeeds();
    assert!(said.contains("\nthe store is sound"), "{said}");
    let indexes = if kind == Kind::Etcd { ("alarms", "none") } else { ("indexes", "") };
    // An import makes one record for each batch.
    let records = 7_000_usize.div_ceil(kind.batch());
    let animals = format!("7000 read, and {records} idempotency records; each is valid");
    let animals = ("animals", &*animals);
    for (subject, detail) in [("schema", "version "), indexes, ("API keys", "2 read"), animals] {
        let good = format!("ok       {subject:<11} {detail}");
        assert!(said.lines().any(|line| line.starts_with(&good)), "{good:?}: {said}");
    }
    if kind == Kind::Etcd {
        return;
    }
    // The PostgreSQL servers of the tests do not wait for their disk, so the check warns.
    let lasting = if store.url.starts_with("sqlite:") { "ok     " } else { "warning" };
    assert!(said.contains(&format!("\n{lasting}  durability  ")), "{said}");
}

fn damaged_rows_and_a_missing_index_are_named(kind: Kind) {
    let store = made(kind);
    import(&store.url, "ndjson", &many(6_000)).succeeds();
    store.new_key("good");
    store.new_key("bad");
    store.damage("UPDATE api_key SET digest = substr(digest, 1, 31) WHERE name = 'bad'");
    names(&store, &["API keys", "API key 2", "a digest has 32 bytes"]);
    let server = Launch::on(&store).start();
    let once = server.client().add(&catalogue::pet("Once")).header("idempotency-key", "once");
    once.send().is(201);
    server.stop();
    store.damage("UPDATE idempotency SET fingerprint = substr(fingerprint, 1, 31)");
    names(&store, &["animals", "idempotency record"]);
    if kind == Kind::Postgres {
        store.damage("ALTER TABLE pet DROP CONSTRAINT pet_name");
    }
    store.damage("UPDATE pet SET name = '' WHERE id = 5500");
    names(&store, &["animals", "animal 5500"]);
    store.damage("DROP INDEX pet_sold");
    names(&store, &["indexes", "sold"]);
}

#[test]
fn a_damaged_index_of_a_file_is_found() {
    let store = Store::sqlite();
    super::commands::make(&store);
    damage_index(&store);
    names(&store, &["integrity", "pet_sold"]);
    let sound = made(Kind::Sqlite);
    for words in [
        &["export", "--store", &store.url][..],
        &["store", "copy", "--from", &store.url, "--to", &sound.url],
        &["store", "copy", "--from", &sound.url, "--to", &store.url],
        &["store", "verify", "--from", &store.url, "--to", &sound.url],
        &["store", "verify", "--from", &sound.url, "--to", &store.url],
        &["store", "move", "--yes", "--from", &store.url, "--to", &sound.url],
        &["store", "move", "--dry-run", "--from", &sound.url, "--to", &store.url],
    ] {
        run(words).fails(1, " is damaged: ");
    }
    // A missing index hides no animal.
    sound.damage("DROP INDEX pet_sold");
    run(&["export", "--store", &sound.url]).succeeds();
}

on_stores!(lasting: a_sound_store_is_called_sound);

on_stores!(sql: damaged_rows_and_a_missing_index_are_named);
