//! Commands on a store that is not there, or that does not answer.

use std::net::TcpListener;

use super::commands::{made, make, run};
use crate::support::store::{Kind, Store, on_stores};

/// The words of each command that reads one store, or writes to it without being asked to make it.
const ON_ONE: [&[&str]; 7] = [
    &["store", "release", "--force"],
    &["check", "--store"],
    &["export", "--store"],
    &["import", "--store"],
    &["keys", "list", "--store"],
    &["keys", "revoke", "web", "--store"],
    &["keys", "roll", "web", "--store"],
];
/// The same of two: what a store that is there takes part in, and the word before the other.
const ON_TWO: [(&[&str], &str, &str); 6] = [
    (&["store", "copy"], "--to", "--from"),
    (&["store", "verify"], "--to", "--from"),
    (&["store", "verify"], "--from", "--to"),
    (&["store", "move", "--yes"], "--to", "--from"),
    (&["store", "move", "--dry-run"], "--to", "--from"),
    (&["store", "move", "--cancel"], "--from", "--to"),
];

/// Every command, on the store of `url`; a second one is `other`.
fn commands<'a>(url: &'a str, other: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let on_one = ON_ONE.into_iter().map(move |words| [words, &[url]].concat());
    let on_two = ON_TWO.into_iter();
    on_one
        .chain(on_two.map(move |(words, known, word)| [words, &[known, other, word, url]].concat()))
}

fn a_store_that_is_not_there_is_not_made(kind: Kind) {
    let store = Store::new(kind);
    let other = made(kind);
    for words in commands(&store.url, &other.url) {
        let refused = run(&words);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{words:?}");
        let says = ["there is no store at", "no petstore store is in it"];
        assert!(says.iter().any(|says| refused.stderr.contains(says)), "{words:?}: {refused:?}");
        assert!(!store.is_made(), "{words:?}");
    }
}

on_stores!(lasting: a_store_that_is_not_there_is_not_made);

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    // It takes connections, in its backlog, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("postgres://me:hush@{address}/zoo?connect_timeout=100ms");
    let other = Store::sqlite();
    make(&other);
    let making: [&[&str]; 2] =
        [&["import", "--create", "--store"], &["keys", "create", "web", "--store"]];
    let making = making.map(|words| [words, &[&url]].concat());
    for words in commands(&url, &other.url).chain(making) {
        run(&words).fails(1, "cannot open the store postgres://me:…@127.0.0.1:");
    }
}
