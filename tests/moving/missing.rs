//! Commands on a store that does not exist.

use super::commands::{made, run};
use crate::support::store::{Kind, Store, on_stores};

/// The commands on one store that must not make the store.
const ON_ONE: [&[&str]; 8] = [
    &["store", "release", "--force"],
    &["check", "--store"],
    &["upgrade", "--store"],
    &["export", "--store"],
    &["import", "--store"],
    &["keys", "list", "--store"],
    &["keys", "revoke", "web", "--store"],
    &["keys", "roll", "web", "--store"],
];
/// The commands on two stores: the first words, the flag of an existing store, and the flag of the missing store.
const ON_TWO: [(&[&str], &str, &str); 6] = [
    (&["store", "copy"], "--to", "--from"),
    (&["store", "verify"], "--to", "--from"),
    (&["store", "verify"], "--from", "--to"),
    (&["store", "move", "--yes"], "--to", "--from"),
    (&["store", "move", "--dry-run"], "--to", "--from"),
    (&["store", "move", "--cancel"], "--from", "--to"),
];

fn no_command_creates_a_missing_store(kind: Kind) {
    let store = Store::new(kind);
    let other = made(kind);
    let (url, known) = (store.url.as_str(), other.url.as_str());
    let on_one = ON_ONE.into_iter().map(|words| [words, &[url]].concat());
    let on_two = ON_TWO.into_iter();
    let on_two = on_two.map(|(words, one, other)| [words, &[one, known, other, url]].concat());
    for words in on_one.chain(on_two) {
        let refused = run(&words);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{words:?}");
        assert!(refused.stderr.contains("; 'petstore serve'"), "{words:?}: {refused:?}");
        assert!(!store.is_made(), "{words:?}");
    }
}

on_stores!(lasting: no_command_creates_a_missing_store);
