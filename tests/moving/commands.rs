//! Shorthands for the commands on whole stores.

use crate::support::{
    command::{Finished, Running, finish, petstore},
    store::{Kind, Store},
};

/// Runs `petstore` with the arguments `words`.
#[track_caller]
pub(crate) fn run(words: &[&str]) -> Finished {
    petstore(words).finish()
}

/// Makes an empty store.
#[track_caller]
pub(crate) fn make(store: &Store) {
    run(&["import", "--create", "--store", &store.url]).succeeds();
}

/// Makes an empty store of this kind.
#[track_caller]
pub(crate) fn made(kind: Kind) -> Store {
    let store = Store::new(kind);
    make(&store);
    store
}

/// Copies a store. Returns the output.
#[track_caller]
pub(crate) fn copy(from: &str, to: &str) -> String {
    run(&["store", "copy", "--from", from, "--to", to]).succeeds()
}

/// Asserts that both stores are equal. Returns the output.
#[track_caller]
pub(crate) fn verify(from: &str, to: &str) -> String {
    let said = run(&["store", "verify", "--from", from, "--to", to]).succeeds();
    assert!(said.contains("the stores are equal: "), "{said}");
    said
}

/// Exports every animal of a store.
#[track_caller]
pub(crate) fn exported(url: &str, format: &str) -> String {
    run(&["export", "--store", url, "--format", format]).succeeds()
}

/// Imports `text` from standard input.
#[track_caller]
pub(crate) fn import(url: &str, format: &str, text: &str) -> Finished {
    feed(&["import", "--store", url, "--format", format], text)
}

/// Starts `petstore` with a pipe as standard input.
pub(crate) fn fed(words: &[&str]) -> Running {
    petstore(words).fed().spawn()
}

/// Runs `petstore` to its end, with `text` on standard input.
#[track_caller]
pub(crate) fn feed(words: &[&str], text: &str) -> Finished {
    finish(fed(words), text)
}
