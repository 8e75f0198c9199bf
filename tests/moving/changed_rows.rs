//! Copies, moves, restores and checks of a store whose animals were deleted or changed by SQL or `etcdctl`, past the
//! service.

use super::{
    commands::{copy, exported, made, run, verify},
    live::commands::hand_over,
    restore::{backup, restore},
};
use crate::support::{
    answer::Answer,
    catalogue::{id_of, pet},
    client::Client,
    server::Launch,
    store::{Kind, Store, on_stores},
};

/// A store of five animals with idempotency records, of which one was deleted and one was changed since; and the
/// first answers.
fn changed(kind: Kind) -> (Store, Vec<Answer>) {
    let store = made(kind);
    let server = Launch::on(&store).start();
    let client = server.client();
    let firsts: Vec<_> = (0..5).map(|number| add(&client, number).is(201)).collect();
    server.stop();
    store.delete_pet(id_of(&firsts[2].json()));
    store.rename_pet(id_of(&firsts[4].json()), "Rex 4", "Other");
    (store, firsts)
}

fn add(client: &Client, number: usize) -> Answer {
    let (name, key) = (format!("Rex {number}"), format!("key-{number}"));
    client.add(&pet(&name)).header("idempotency-key", &key).send()
}

/// Holds that each repeat gets the first answer, and that the store is sound.
#[track_caller]
fn repeats(store: &Store, firsts: &[Answer]) {
    run(&["check", "--store", &store.url]).succeeds();
    let server = Launch::on(store).start();
    let client = server.client();
    for (number, first) in firsts.iter().enumerate() {
        let again = add(&client, number).is(201);
        assert_eq!(again.must("idempotency-replayed"), "true");
        assert_eq!((&again.body, again.must("location")), (&first.body, first.must("location")));
    }
    server.stop();
}

fn a_copy_has_the_records_of_animals_that_are_gone(kinds: [Kind; 2]) {
    let (from, firsts) = changed(kinds[0]);
    let to = Store::new(kinds[1]);
    let said = copy(&from.url, &to.url);
    assert!(said.starts_with("copied 4 animals (0 were there before)"), "{said}");
    assert!(said.ends_with(" and 5 idempotency records\n"), "{said}");
    verify(&from.url, &to.url);
    verify(&to.url, &from.url);
    assert_eq!(exported(&from.url, "csv"), exported(&to.url, "csv"));
    for store in [&from, &to] {
        repeats(store, &firsts);
    }
}

fn a_move_takes_the_records_of_animals_that_are_gone(kinds: [Kind; 2]) {
    let (from, firsts) = changed(kinds[0]);
    let to = Store::new(kinds[1]);
    let before = exported(&from.url, "csv");
    hand_over(&from, &to).succeeds();
    assert_eq!(before, exported(&to.url, "csv"));
    repeats(&to, &firsts);
}

fn a_restored_store_has_the_records_of_animals_that_are_gone(kind: Kind) {
    let (store, firsts) = changed(Kind::Sqlite);
    let backup = backup(&store);
    repeats(&backup, &firsts);
    let to = Store::new(kind);
    restore(&backup, &to.url).succeeds();
    assert_eq!(exported(&store.url, "csv"), exported(&to.url, "csv"));
    repeats(&to, &firsts);
}

on_stores!(
    pairs:
    a_copy_has_the_records_of_animals_that_are_gone,
    a_move_takes_the_records_of_animals_that_are_gone,
);

on_stores!(lasting: a_restored_store_has_the_records_of_animals_that_are_gone);
