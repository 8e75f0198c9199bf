//! Stores that must not be used: sealed stores, stores that are being filled, and their backups.

use std::fs;

use rusqlite::Connection;

use super::{
    commands::{hand_over, populate, serve, spawn},
    phase::Phase,
};
use crate::moving::commands::made;
use crate::support::{
    catalogue::{everything, pet},
    command::petstore,
    server::Launch,
    store::{Kind, Store},
    wait,
};

/// Copies the file of a store to another folder.
fn restored(store: &Store) -> Store {
    let copy = Store::sqlite();
    let to = copy.file();
    let file = Connection::open(store.file()).unwrap();
    file.execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
    copy
}

/// Kills a mover while it fills the new store. Returns both stores, old first, and what `prepare` returned for it.
fn killed_in_the_middle<T>(prepare: impl Fn(&Store) -> T) -> (Store, Store, T) {
    for _ in 0..10 {
        let (from, to) = (Store::sqlite(), Store::sqlite());
        let prepared = prepare(&from);
        let mover = spawn(&from, &to);
        wait::until("the new store has animals", || to.state().is_some() && to.pets() > 0);
        drop(mover);
        // The mover may have completed the move before the kill.
        if Phase::of(&from, &to) == Phase::Filling {
            return (from, to, prepared);
        }
    }
    panic!("ten movers were faster than their kills");
}

#[test]
fn a_sealed_store_is_neither_served_nor_changed_by_sql() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    populate(&from, 10);
    let server = Launch::on(&from).start();
    let client = server.client();
    client.get("/v1/pets").send().is(200);
    let said = hand_over(&from, &to).succeeds();
    assert!(said.ends_with(&format!(" restart services with --store {}\n", to.url)), "{said}");
    client.add(&pet("Rex")).send().is(503);
    client.get("/v1/pets").send().is(503);
    client.get("/v1/pets/1").send().is(503);
    client.get("/v1/pets/4711").send().is(503);
    let expected = format!("the store was handed over to {}; use that one", to.url);
    wait::until("the log says what to do", || server.log().contains(&expected));
    let sold = "UPDATE pet SET status = 'sold' WHERE id = 7";
    let refusal = from.try_sql(sold).unwrap_err();
    assert!(refusal.contains("handed over"), "{refusal}");
    to.try_sql(sold).unwrap();
}

#[petstore_testing::needs(time)]
#[test]
fn a_copy_of_either_store_of_a_handover_is_refused_until_released_and_then_independent() {
    let (from, to, ()) = killed_in_the_middle(|from| drop(populate(from, 30_000)));
    let of_new = restored(&to);
    Launch::on(&of_new).finish().fails(78, "is being filled from another store");
    petstore(&["import", "--store", &of_new.url])
        .finish()
        .fails(1, "is being filled from another store");
    hand_over(&made(Kind::Sqlite), &of_new).fails(1, "is being filled from another store");
    hand_over(&from, &to).succeeds();
    let of_old = restored(&from);
    let there = fs::read(to.file()).unwrap();
    Launch::on(&of_old).finish().fails(78, "was handed over to ");
    petstore(&["store", "release", &of_old.url]).finish().fails(2, "--force");
    for store in [&of_old, &of_new] {
        let said = petstore(&["store", "release", &store.url, "--force"]).finish().succeeds();
        assert_eq!(said, format!("{} is a store of its own now, and open\n", store.url));
        let server = Launch::on(store).start();
        server.client().add(&pet("Rex")).send().is(201);
        server.stop();
        petstore(&["check", "--store", &store.url]).finish().succeeds();
    }
    assert!(fs::read(to.file()).unwrap() == there, "a copy has written to the new store");
    // The copy of the old store and the new store are independent: the service continues with the copy.
    let server = serve(&of_old, &to);
    assert_eq!(everything(&server.client()).len(), 30_001);
}

#[test]
fn an_old_store_restored_during_a_move_is_not_mixed_with_the_new_store() {
    let (from, to, backup) = killed_in_the_middle(|from| {
        populate(from, 1_000);
        let backup = restored(from);
        populate(from, 20_000);
        backup
    });
    assert!(to.pets() >= 2_000, "the new store must have animals that the backup lacks");
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", from.file().display()));
    }
    fs::copy(backup.file(), from.file()).unwrap();
    let server = Launch::on(&from).start();
    server.client().add(&pet("Another history")).send().is(201);
    server.stop();
    hand_over(&from, &to).fails(1, "the target holds other data");
    let server = Launch::on(&from).start();
    server.client().add(&pet("Rex")).send().is(201);
}

#[test]
fn a_copy_of_the_old_store_is_refused_as_the_new_store() {
    let from = Store::sqlite();
    populate(&from, 10);
    hand_over(&from, &restored(&from)).fails(1, "has the identity of the old store");
    Launch::on(&from).start().client().add(&pet("Rex")).send().is(201);
}
