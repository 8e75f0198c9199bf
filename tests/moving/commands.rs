//! The commands that move a catalogue.

use crate::support::{
    command::{Finished, Running, finish, petstore},
    store::{Kind, Store},
};

/// Runs `petstore` with these words.
#[track_caller]
pub(crate) fn run(words: &[&str]) -> Finished {
    petstore(words).finish()
}

/// Makes a store, without animals.
#[track_caller]
pub(crate) fn make(store: &Store) {
    run(&["import", "--create", "--store", &store.url]).succeeds();
}

/// A new and empty store of this kind, which is there.
#[track_caller]
pub(crate) fn made(kind: Kind) -> Store {
    let store = Store::new(kind);
    make(&store);
    store
}

/// Copies, which must succeed: what it says.
#[track_caller]
pub(crate) fn copy(from: &str, to: &str) -> String {
    run(&["store", "copy", "--from", from, "--to", to]).succeeds()
}

/// Holds that both stores hold the same.
#[track_caller]
pub(crate) fn verify(from: &str, to: &str) {
    let said = run(&["store", "verify", "--from", from, "--to", to]).succeeds();
    assert!(said.contains("the stores are equal: "), "{said}");
}

/// Every animal of a store, written down.
#[track_caller]
pub(crate) fn exported(url: &str, format: &str) -> String {
    run(&["export", "--store", url, "--format", format]).succeeds()
}

/// Imports these lines from standard input.
#[track_caller]
pub(crate) fn import(url: &str, format: &str, text: &str) -> Finished {
    feed(&["import", "--store", url, "--format", format], text)
}

/// Starts `petstore` with a pipe for its standard input.
pub(crate) fn fed(words: &[&str]) -> Running {
    petstore(words).fed().spawn()
}

/// Runs `petstore` to its end, with `text` on its standard input.
#[track_caller]
pub(crate) fn feed(words: &[&str], text: &str) -> Finished {
    finish(fed(words), text)
}
