//! Backups of stores in use, and refused backups.

use std::{fs, os::unix::fs::PermissionsExt as _};

use petstore_testing::needs;

use super::{
    animals::many,
    check::damage_index,
    commands::{exported, import, made, make, run},
};
use crate::support::{
    catalogue::{self, pet},
    command::petstore,
    server::Launch,
    store::{Kind, Store},
    wait,
};

#[test]
fn a_backup_of_a_running_service_is_a_state_of_its_store() {
    let store = Store::sqlite();
    make(&store);
    import(&store.url, "ndjson", &many(20_000)).succeeds();
    let server = Launch::on(&store).start();
    let client = server.client();
    catalogue::add(&client, &pet("Before"));
    let copy = Store::sqlite();
    let adds = || drop(catalogue::add(&client, &pet("Busy")));
    wait::beside(4, adds, || {
        let said = run(&["backup", "--store", &store.url, "--to", copy.file().to_str().unwrap()]);
        let said = said.succeeds();
        assert!(said.starts_with("backed up sqlite:") && said.contains("found sound"), "{said}");
    });
    let acknowledged = exported(&store.url, "ndjson");
    assert_eq!(fs::read_dir(copy.folder()).unwrap().count(), 1);
    assert_eq!(fs::metadata(copy.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let other = copy.folder().join("other.db");
    let words = ["backup", "--store", &store.url, "--to", other.to_str().unwrap()];
    let missing = petstore(&words).flag("--metrics-file", "/nowhere/metrics").finish();
    missing.fails(1, "other.db is sound, but its metric is missing: ");
    assert!(other.exists());
    run(&["check", "--store", &copy.url]).succeeds();
    let copied = exported(&copy.url, "ndjson");
    assert!(acknowledged.starts_with(&copied) && copied.lines().count() > 20_000);
}

#[test]
fn a_refused_backup_replaces_no_file_and_leaves_none_behind() {
    let store = Store::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let words = ["backup", "--store", &store.url, "--to", file.to_str().unwrap()];
    run(&words).fails(1, "'petstore import --create' make one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    make(&store);
    fs::write(&file, "mine").unwrap();
    run(&words).fails(1, "exists already; a backup replaces no file: name another");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let missing = folder.path().join("missing/copy.db");
    let to_missing = ["backup", "--store", &store.url, "--to", missing.to_str().unwrap()];
    run(&to_missing).fails(1, ": No such file or directory");
    let to_stdout = ["backup", "--store", &store.url, "--to", "-"];
    run(&to_stdout).fails(2, "cannot go to standard output; name a file");
    damage_index(&store);
    fs::remove_file(&file).unwrap();
    run(&words).fails(1, "the copy is not sound");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[needs(postgres, etcd)]
#[test]
fn a_backup_of_a_server_is_refused_and_names_its_own_tool() {
    for (kind, tool) in
        [(Kind::Postgres, "pg_dump --format=custom"), (Kind::Etcd, "etcdctl snapshot save")]
    {
        let store = made(kind);
        let file = store.folder().join("copy.db");
        let done = run(&["backup", "--store", &store.url, "--to", file.to_str().unwrap()]);
        done.fails(1, &format!("use '{tool} "));
        assert!(!file.exists());
    }
}
