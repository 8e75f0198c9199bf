//! No identifier is assigned twice, also in a copy of a store that has lost the rows with its highest identifiers.

use super::{
    commands::{copy, made, run, verify},
    live::commands::hand_over,
    restore::{backup, restore},
};
use crate::support::{
    catalogue::{self, id_of, pet},
    server::Launch,
    store::{Kind, Store, on_stores},
};

/// A store that had five animals and three API keys, and has lost the last of each.
fn reduced(kind: Kind) -> Store {
    let store = made(kind);
    let server = Launch::on(&store).start();
    for number in 1..=5 {
        let added = catalogue::add(&server.client(), &pet(&format!("Rex {number}")));
        assert_eq!(id_of(&added), number);
    }
    server.stop();
    for name in ["a", "b", "c"] {
        store.new_key(name);
    }
    store.delete_pet(5);
    store.delete_key(3);
    store
}

/// Holds that the next animal is the sixth, and the next API key the fourth.
#[track_caller]
fn continues(store: &Store) {
    let server = Launch::on(store).start();
    assert_eq!(id_of(&catalogue::add(&server.client(), &pet("Next"))), 6);
    server.stop();
    store.new_key("next");
    let keys = store.keys(&["list"]).succeeds();
    let last = keys.lines().last().unwrap();
    assert!(last.starts_with("4 ") && last.contains("next"), "{keys}");
}

fn a_copy_assigns_no_identifier_again(kinds: [Kind; 2]) {
    let from = reduced(kinds[0]);
    let to = Store::new(kinds[1]);
    copy(&from.url, &to.url);
    verify(&from.url, &to.url);
    continues(&to);
    continues(&from);
}

fn a_copy_that_has_only_the_rows_is_not_equal(kinds: [Kind; 2]) {
    let from = reduced(kinds[0]);
    let to = Store::new(kinds[1]);
    copy(&from.url, &to.url);
    // The source has assigned another identifier since, of which nothing is left.
    let server = Launch::on(&from).start();
    let added = id_of(&catalogue::add(&server.client(), &pet("Short")));
    server.stop();
    from.delete_pet(added);
    let words = ["store", "verify", "--from", &from.url, "--to", &to.url];
    run(&words).fails(1, "the stores differ: the highest identifier");
    copy(&from.url, &to.url);
    verify(&from.url, &to.url);
}

fn a_move_assigns_no_identifier_again(kinds: [Kind; 2]) {
    let from = reduced(kinds[0]);
    let to = Store::new(kinds[1]);
    hand_over(&from, &to).succeeds();
    continues(&to);
}

fn a_restored_store_assigns_no_identifier_again(kind: Kind) {
    let store = reduced(Kind::Sqlite);
    let backup = backup(&store);
    let to = Store::new(kind);
    restore(&backup, &to.url).succeeds();
    continues(&to);
}

on_stores!(
    pairs:
    a_copy_assigns_no_identifier_again,
    a_copy_that_has_only_the_rows_is_not_equal,
    a_move_assigns_no_identifier_again,
);

on_stores!(lasting: a_restored_store_assigns_no_identifier_again);
