//! Stores that are restored from backups.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rusqlite::Connection;

use super::{
    animals::many,
    check::damage_index,
    commands::{import, made, make, run, verify},
    paused::end,
};
use crate::support::{
    catalogue::{self, id_of, pet},
    command::{self, Finished, petstore},
    disk::Disk,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

/// Makes a backup of the store. The backup is a store too.
#[track_caller]
pub(super) fn backup(store: &Store) -> Store {
    let backup = Store::sqlite();
    let file = backup.file();
    run(&["backup", "--store", &store.url, "--to", file.to_str().unwrap()]).succeeds();
    backup
}

pub(super) fn restore(backup: &Store, to: &str) -> Finished {
    run(&["restore", backup.file().to_str().unwrap(), "--store", to])
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn identity(store: &Store) -> Vec<u8> {
    let file = Connection::open(store.file()).unwrap();
    file.query_row("SELECT identity FROM petstore_state", [], |row| row.get(0)).unwrap()
}

/// `everything.rs` checks that a restored store has all animals, API keys and idempotency records.
#[test]
fn a_restored_store_continues_from_the_backup_and_has_another_identity() {
    let (store, server) = Server::on_file();
    let client = server.client();
    let backup = backup(&store);
    let later = catalogue::add(&client, &pet("Later"));
    let seen = client.get("/v1/pets").send().is(200).must("etag").to_owned();
    server.stop();

    // A warning of the check does not refuse a backup.
    backup.damage("CREATE TABLE mine (a)");
    let restored = Store::sqlite();
    let said = restore(&backup, &restored.url);
    let [file, place] = [&backup, &restored].map(|store| store.file().display().to_string());
    assert_eq!(said.stdout, format!("restored {file} to {place}, found sound\n"));
    assert!(said.stderr.contains("revoke again the keys"), "{said:?}");
    said.succeeds();
    assert_eq!(files(&restored.folder()), 1);
    assert_eq!(fs::metadata(restored.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let of_restored = identity(&restored);
    assert!(of_restored != identity(&store) && of_restored != identity(&backup));
    verify(&backup.url, &restored.url);

    // The lost identifier is assigned again. The lost entity tag is not.
    let server = Launch::on(&restored).start();
    let client = server.client();
    let other = catalogue::add(&client, &pet("Other"));
    assert_eq!(id_of(&other), id_of(&later));
    let now = client.get("/v1/pets").header("if-none-match", &seen).send().is(200);
    assert_ne!(now.must("etag"), seen);
}

fn a_restore_replaces_only_an_empty_store(kind: Kind) {
    let store = Store::sqlite();
    store.new_key("web");
    import(&store.url, "ndjson", &many(10)).succeeds();
    let (backup, there) = (backup(&store), made(kind));
    import(&there.url, "ndjson", "{\"name\":\"Mine\",\"categoryId\":1}").succeeds();
    let says = if kind == Kind::Sqlite {
        "a restore replaces no store"
    } else {
        "is not empty; name an empty store"
    };
    restore(&backup, &there.url).fails(1, says);
    assert_eq!(there.pets(), 1);
    assert!(!there.keys(&["list"]).succeeds().contains("web"));
}

#[test]
fn a_refused_restore_leaves_nothing_behind() {
    let target = Store::sqlite();
    let refused = |file: &Store, says: &str| {
        restore(file, &target.url).fails(1, says);
        assert_eq!(files(&target.folder()), 0);
    };
    let missing = Store::sqlite();
    refused(&missing, "there is no backup at ");
    assert_eq!(files(&missing.folder()), 0);
    let text = Store::sqlite();
    fs::write(text.file(), "{\"name\":\"Rex\"}\n").unwrap();
    refused(&text, "not a");
    fs::write(text.file(), "").unwrap();
    refused(&text, "there is no backup at ");
    fs::remove_file(text.file()).unwrap();
    fs::create_dir(text.file()).unwrap();
    refused(&text, "petstore.db");
    let damaged = Store::sqlite();
    make(&damaged);
    damage_index(&damaged);
    refused(&damaged, "is not sound: integrity: ");
    let sealed = Store::sqlite();
    make(&sealed);
    sealed.damage(
        "UPDATE petstore_state SET state = 'sealed', other = randomblob(16), label = 'elsewhere', \
         version = zeroblob(0)",
    );
    refused(&sealed, "was handed over to elsewhere");

    let sound = Store::sqlite();
    make(&sound);
    for companion in ["petstore.db-wal", "petstore.db-shm", "petstore.db-journal"] {
        let path = target.folder().join(companion);
        fs::write(&path, "").unwrap();
        let says = format!("{companion} belongs to an earlier store");
        restore(&sound, &target.url).fails(1, &says);
        assert_eq!(files(&target.folder()), 1);
        fs::remove_file(path).unwrap();
    }
    let small = petstore(&["restore", sound.file().to_str().unwrap(), "--store", &target.url]);
    small.with_limit("-f 100").finish().fails(1, "cannot copy the store");
    assert_eq!(files(&target.folder()), 0);
}

#[test]
fn an_unreadable_backup_is_not_reported_as_missing() {
    let (store, target) = (Store::sqlite(), Store::sqlite());
    make(&store);
    let backup = backup(&store);
    fs::set_permissions(backup.file(), Permissions::from_mode(0o000)).unwrap();
    let inside = backup.file().join("inside.db");
    for (file, why) in [(backup.file(), "Permission denied"), (inside, "Not a directory")] {
        let words = ["restore", file.to_str().unwrap(), "--store", &target.url];
        let mut restore = petstore(&words);
        if fs::read(&file).is_ok() {
            // Root can read the file anyway, unless it drops these capabilities.
            let rights = "-dac_override,-dac_read_search";
            restore = restore.behind(["setpriv", "--bounding-set", rights, "--"]);
        }
        let said = restore.finish().fails(1, why).stderr;
        assert!(said.contains(&format!("cannot read {}", file.display())), "{said}");
        assert_eq!(files(&target.folder()), 0);
    }
}

#[test]
fn a_stopped_or_killed_command_says_so_and_leaves_no_file() {
    let (disk, store) = (Disk::new(), Store::sqlite());
    make(&store);
    import(&store.url, "ndjson", &many(5_000)).succeeds();
    let backup = backup(&store);
    let (source, target) = (backup.file(), Store::sqlite());
    let copy = target.folder().join("copy.db");
    let backing_up = ["backup", "--store", &store.url, "--to", copy.to_str().unwrap()];
    let restoring = ["restore", source.to_str().unwrap(), "--store", &target.url];
    let checking = ["check", "--store", &store.url];
    let no_backup = "petstore: stopped; no backup was made\n";
    for (words, signal, says) in [
        (&backing_up[..], "TERM", no_backup),
        (&backing_up, "INT", no_backup),
        (&checking, "TERM", "petstore: stopped before everything was examined\n"),
        (&restoring, "KILL", ""),
        (&restoring, "TERM", "petstore: stopped before the store was restored; run it again\n"),
    ] {
        let hung = disk.hung_reads();
        disk.hang();
        let running = petstore(words).disk(&disk).spawn();
        wait::until("the command reads the store", || disk.hung_reads() > hung);
        // The process gets the signal before it can read the first page of the file.
        command::signal(&running, "STOP");
        disk.resume();
        let output = end(running, signal);
        assert_eq!(output.code, (signal != "KILL").then_some(1), "{output:?}");
        assert!(output.stderr.ends_with(says), "{output:?}");
        assert!(!copy.exists() && !target.file().exists(), "{words:?}");
    }
    restore(&backup, &target.url).succeeds();
    verify(&store.url, &target.url);
}

on_stores! {
    lasting:
    a_restore_replaces_only_an_empty_store,
}
