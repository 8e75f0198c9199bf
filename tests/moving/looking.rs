//! Commands that only read need no right to write. A foreign journal file beside a store costs no animal.

use std::fs;

use petstore_testing::or_skip_without;

use super::{
    animals::many,
    commands::{copy, import, run},
};
use crate::support::{
    command::{lines, petstore},
    server::Launch,
    store::Store,
};

/// Makes a store with animals and an API key, and a copy of the store.
fn pair() -> (Store, Store) {
    let (store, equal) = (Store::sqlite(), Store::sqlite());
    store.new_key("web");
    import(&store.url, "ndjson", &many(300)).succeeds();
    copy(&store.url, &equal.url);
    (store, equal)
}

#[test]
fn commands_that_only_read_work_on_a_read_only_disk() {
    let (store, equal) = pair();
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.db");
    let is_possible = petstore(&["--version"]).on_read_only(&store.folder()).finish();
    let found = if is_possible.code == Some(0) { Ok(()) } else { Err(is_possible.stderr) };
    if or_skip_without("root, unshare and mount", found).is_none() {
        return;
    }
    let (url, equal, new) = (&*store.url, &*equal.url, new.to_str().unwrap());
    for words in [
        &["check", "--store", url][..],
        &["export", "--store", url],
        &["import", "--dry-run", "--store", url],
        &["keys", "list", "--store", url],
        &["store", "verify", "--from", url, "--to", equal],
        &["store", "verify", "--from", equal, "--to", url],
        &["store", "copy", "--from", url, "--to", equal],
        &["store", "move", "--dry-run", "--from", url, "--to", "sqlite:none.db"],
        &["upgrade", "--dry-run", "--store", url],
        &["backup", "--store", url, "--to", new],
    ] {
        petstore(words).on_read_only(&store.folder()).finish().succeeds();
    }
    let says = "its disk is mounted read-only";
    for words in
        [&["keys", "create", "web2", "--store", &store.url][..], &["import", "--store", &store.url]]
    {
        petstore(words).on_read_only(&store.folder()).finish().fails(1, says);
    }
    // A service waits until it can write.
    let words = ["serve", "--store", &store.url, "--listen", "127.0.0.1:0"];
    let mut waiting = petstore(&words).on_read_only(&store.folder()).spawn();
    let mut log = lines(waiting.stderr.take().unwrap());
    let said = log.find(|line| line.contains("the store cannot be reached"));
    assert!(said.unwrap().contains(says));
}

#[test]
fn a_foreign_journal_file_beside_a_store_costs_no_row() {
    let store = pair().0;
    let (pets, folder) = (store.pets(), tempfile::tempdir().unwrap());
    let (before, new) = (fs::read(store.file()).unwrap(), folder.path().join("new.db"));
    for suffix in ["-wal", "-shm", "-journal"] {
        let beside = store.folder().join(format!("petstore.db{suffix}"));
        for words in [
            &["check", "--store", &store.url][..],
            &["export", "--store", &store.url],
            &["keys", "list", "--store", &store.url],
            &["backup", "--store", &store.url, "--to", new.to_str().unwrap()],
            &["upgrade", "--store", &store.url],
            &["store", "release", "--force", &store.url],
            &["serve"],
        ] {
            fs::write(&beside, [b'x'; 9_000]).unwrap();
            if words == ["serve"] {
                Launch::on(&store).start().stop();
            } else {
                run(words).succeeds();
            }
            let entries = fs::read_dir(store.folder()).unwrap().map(|entry| entry.unwrap().path());
            for path in entries.filter(|path| *path != store.file()) {
                fs::remove_file(path).unwrap();
            }
            assert_eq!(store.pets(), pets, "{suffix}: {words:?}");
            fs::write(store.file(), &before).unwrap();
            let _ = fs::remove_file(&new);
        }
    }
}
