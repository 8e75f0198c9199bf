//! A standby that differs from the store that decides, and what an operator does about it.

use std::fs;

use petstore_testing::needs;
use serde_json::Value;

use super::{
    commands::{follow, status, step, until_caught_up},
    populated::populate,
};
use crate::{
    moving::commands::run,
    support::{
        additions::everything_is_there,
        catalogue::id_of,
        command::exit,
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

/// Renames an animal of the standby behind petstore's back.
fn damage(standby: &Store, pet: &Value) {
    // The fence of PostgreSQL takes it for the follower; SQLite has none for other programs.
    let is_file = standby.url.starts_with("sqlite:");
    let setting = if is_file { "" } else { "SET petstore.follower = 'on';" };
    standby.vandalise(&format!("{setting} UPDATE pet SET name = 'Max' WHERE id = {}", id_of(pet)));
}

/// Reads the animal until a shadow read has met the damage.
fn until_counted(server: &Server, from: &Store, to: &Store, pet: &Value) {
    let target = format!("/v1/pets/{}", id_of(pet));
    let what = format!("animal {}", id_of(pet));
    wait::until("the difference is counted", || {
        for _ in 0..50 {
            assert_eq!(&server.client().get(&target).send().is(200).json(), pet);
        }
        let status = status(from, to);
        status["differences"].as_i64() > Some(0) && status["lastDifference"] == what.as_str()
    });
    let log = server.log();
    let logged =
        |line: &str| line.contains("the stores of the move differ") && line.contains(&what);
    assert!(log.lines().any(logged), "{log}");
}

/// `new` is called for the target of another try.
fn is_found_and_mended(from: &Store, to: &Store, new: impl FnOnce() -> Option<Store>) {
    let additions = populate(from, 300);
    let pet = additions[7].acknowledged.clone().unwrap();
    let server = Launch::on(from).start();
    let mut follower = follow(from, to);
    until_caught_up(from, to);
    damage(to, &pet);
    until_counted(&server, from, to, &pet);

    let id = id_of(&pet);
    step(from, to, "flip")
        .fails(1, &format!("answered differently by the two stores, the last one: animal {id};"));
    let urls = ["store", "verify", "--from", &from.url, "--to", &to.url];
    run(&urls).fails(1, &format!("animal {id}"));

    // The way out: the move is given up, and begun anew with an empty store.
    step(from, to, "back").succeeds();
    step(from, to, "finish").succeeds();
    assert_eq!(exit(&mut follower.0), Some(0));
    step(from, to, "follow").fails(1, "a move to the target was given up; name an empty store");
    let new = new();
    let to = new.as_ref().unwrap_or(to);
    let _follower = follow(from, to);
    until_caught_up(from, to);
    for _ in 0..50 {
        server.client().get(&format!("/v1/pets/{id}")).send().is(200);
    }
    step(from, to, "flip").succeeds();
    assert_eq!(status(from, to)["differences"], 0);
    step(from, to, "finish").succeeds();
    everything_is_there(&server.client(), &additions);
    drop(server);
    everything_is_there(&Launch::on(to).start().client(), &additions);
}

#[needs(postgres)]
#[test]
fn a_difference_is_found_and_the_move_begins_anew_in_another_database() {
    let Some((to, new)) = Store::postgres().zip(Store::postgres()) else { return };
    is_found_and_mended(&Store::sqlite(), &to, || Some(new));
}

#[test]
fn a_difference_is_found_and_the_move_begins_anew_in_the_same_file() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    is_found_and_mended(&from, &to, || {
        for file in fs::read_dir(to.folder()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        None
    });
}

/// The store that decides has everything, so the move can only be finished.
#[test]
fn a_difference_after_the_flip_keeps_the_old_store_from_deciding_again() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    let additions = populate(&from, 300);
    let pet = additions[7].acknowledged.clone().unwrap();
    let server = Launch::on(&from).start();
    let _follower = follow(&from, &to);
    until_caught_up(&from, &to);
    step(&from, &to, "flip").succeeds();
    damage(&from, &pet);
    until_counted(&server, &from, &to, &pet);
    step(&from, &to, "back").fails(1, "answered differently by the two stores");
    step(&from, &to, "finish").succeeds();
    everything_is_there(&server.client(), &additions);
}
