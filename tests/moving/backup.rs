//! Backups of stores in use.

use std::{fs, os::unix::fs::PermissionsExt as _};

use petstore_testing::needs;

use super::{
    animals::many,
    check::damage_index,
    commands::{exported, import, make, run},
    paused::end,
};
use crate::support::{
    catalogue::{self, id_of, pet},
    command::{self, petstore},
    disk::Disk,
    server::Launch,
    store::Store,
    wait,
};

#[test]
fn a_backup_of_a_running_service_is_restored_with_its_keys_and_retries() {
    let store = Store::sqlite();
    let key = store.new_key("web");
    import(&store.url, "ndjson", &many(20_000)).succeeds();
    let server = Launch::on(&store).start();
    let client = server.client();
    let once = client.add(&pet("Once")).key(&key).header("idempotency-key", "once");
    let first = once.send().is(201).json();

    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let adds = || drop(catalogue::add(&client, &pet("Busy")));
    wait::beside(4, adds, || {
        let said = run(&["backup", "--store", &store.url, "--to", copy.to_str().unwrap()]);
        let said = said.succeeds();
        assert!(said.starts_with("backed up sqlite:") && said.contains("found sound"), "{said}");
    });
    let acknowledged = exported(&store.url, "ndjson").lines().count();
    server.stop();
    let entries: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);

    // As in docs/OPERATING.md: remove all files of the old store, then copy the backup to its path.
    for entry in fs::read_dir(store.folder()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    fs::copy(&copy, store.file()).unwrap();
    run(&["check", "--store", &store.url]).succeeds();
    let restored = exported(&store.url, "ndjson");
    let count = restored.lines().count();
    assert!((20_001..acknowledged).contains(&count), "{count} of {acknowledged}");
    let server = Launch::on(&store).start();
    let client = server.client();
    let again = client.add(&pet("Once")).key(&key).header("idempotency-key", "once").send();
    assert_eq!(again.is(201).json(), first);
    assert_eq!(id_of(&catalogue::add(&client, &pet("Next"))), i64::try_from(count).unwrap() + 1);
}

#[test]
fn a_backup_replaces_no_file_and_leaves_none_behind() {
    let store = Store::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let words = ["backup", "--store", &store.url, "--to", file.to_str().unwrap()];
    run(&words).fails(1, "there is no store at");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    make(&store);
    fs::write(&file, "mine").unwrap();
    run(&words).fails(1, "exists already; a backup replaces no file: name another");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let missing = folder.path().join("missing/copy.db");
    let words = ["backup", "--store", &store.url, "--to", missing.to_str().unwrap()];
    run(&words).fails(1, ": No such file or directory");
    let words = ["backup", "--store", &store.url, "--to", "-"];
    run(&words).fails(2, "cannot go to standard output; name a file");
}

#[test]
fn a_backup_that_is_asked_to_stop_stops_and_leaves_no_file() {
    let disk = Disk::new();
    let store = Store::sqlite();
    store.new_key("web");
    import(&store.url, "ndjson", &many(5_000)).succeeds();
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("copy.db");
        let words = ["backup", "--store", &store.url, "--to", file.to_str().unwrap()];
        let hung = disk.hung_reads();
        disk.hang();
        let running = petstore(&words).disk(&disk).spawn();
        wait::until("the backup reads the store", || disk.hung_reads() > hung);
        // The process gets the signal before it can read the first page.
        command::signal(&running, "STOP");
        disk.resume();
        let output = end(running, signal);
        let said = output.stderr;
        assert_eq!(output.code, Some(1), "{said}");
        assert!(said.ends_with("petstore: stopped; no backup was made\n"), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_unsound_store_has_no_backup() {
    let store = Store::sqlite();
    make(&store);
    damage_index(&store);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let done = run(&["backup", "--store", &store.url, "--to", file.to_str().unwrap()]);
    done.fails(1, "the copy is not sound");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[needs(postgres)]
#[test]
fn a_backup_of_postgresql_is_made_by_its_own_tools() {
    let store = Store::postgres();
    let file = store.folder().join("copy.db");
    let done = run(&["backup", "--store", &store.url, "--to", file.to_str().unwrap()]);
    done.fails(1, "use 'pg_dump --format=custom");
    assert!(!file.exists());
}
