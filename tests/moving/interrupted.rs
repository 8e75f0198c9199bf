//! Copies that are cut off, and go on.

use std::{io::Write as _, process::Child, thread, time::Duration};

use super::{
    animals::many,
    commands::{copy, fed, import, made, verify},
    paused::{end, run_until},
};
use crate::support::{
    catalogue::{self, id_of, pet},
    command::petstore,
    server::Launch,
    store::{Kind, Store, on_lasting_stores},
};

/// Three batches.
const PETS: usize = 150_000;

fn copying(from: &Store, to: &Store) -> Child {
    petstore(&["store", "copy", "--from", &from.url, "--to", &to.url]).spawn()
}

/// A store with [`PETS`] animals, and an empty one of the same kind. What a copy reads and what it writes are cut off
/// alike, whatever the other end is.
fn ends(kind: Kind) -> [Store; 2] {
    let [from, to] = [made(kind), made(kind)];
    import(&from.url, "ndjson", &many(PETS)).succeeds();
    from.new_key("web");
    [from, to]
}

fn a_copy_that_is_killed_twice_goes_on_each_time(kind: Kind) {
    let [from, to] = ends(kind);
    let mut found = 0;
    for _ in 0..2 {
        let running = copying(&from, &to);
        run_until(&running, "more is there", || to.pets() > found);
        end(running, "KILL");
        found = to.pets();
        assert!(found < PETS, "the copy was too fast to be killed");
    }
    let said = copy(&from.url, &to.url);
    let numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    let numbers: Vec<usize> = numbers.take(2).collect();
    // A server may finish the commit of a client that was killed.
    assert!(numbers[1] >= found && numbers[0] + numbers[1] == PETS, "{found}: {said}");
    verify(&from.url, &to.url);

    let server = Launch::on(&to).start();
    let next = catalogue::add(&server.client(), &pet("Next"));
    assert_eq!(id_of(&next), i64::try_from(PETS).unwrap() + 1);
}

fn a_copy_that_is_asked_to_stop_stops_between_batches(kind: Kind) {
    let [from, to] = ends(kind);
    let signal = if kind == Kind::Sqlite { "TERM" } else { "INT" };
    let running = copying(&from, &to);
    run_until(&running, "the first batch is there", || to.pets() > 0);
    let output = end(running, signal);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let line =
        "petstore: stopped; what was copied stays, and the same command goes on from there\n";
    // On a slow machine it also says now and then how far it is.
    let is_progress = |line: &&str| line.starts_with("copying: ");
    let rest: String = said.split_inclusive('\n').filter(|line| !is_progress(line)).collect();
    assert_eq!(rest, line);
    let found = to.pets();
    assert!((1..PETS).contains(&found), "{found}");
    copy(&from.url, &to.url);
    verify(&from.url, &to.url);
}

fn an_import_that_is_killed_or_stopped_leaves_nothing(kind: Kind) {
    let signals = [("KILL", None), ("TERM", Some(1)), ("INT", Some(1))];
    let all = signals.into_iter().flat_map(|signal| [0, 20_000].map(|lines| (signal, lines)));
    for ((signal, code), lines) in all {
        let store = made(kind);
        import(&store.url, "ndjson", &many(1)).succeeds();
        let mut running = fed(&["import", "--store", &store.url]);
        let mut input = running.stdin.take().unwrap();
        input.write_all(many(lines).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(300));
        let output = end(running, signal);
        assert_eq!(output.status.code(), code);
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = if code.is_some() { "petstore: stopped; nothing was kept\n" } else { "" };
        assert_eq!(said, expected);
        assert_eq!(store.pets(), 1);
        drop(input);
    }
}

on_lasting_stores!(
    a_copy_that_is_killed_twice_goes_on_each_time,
    a_copy_that_is_asked_to_stop_stops_between_batches,
    an_import_that_is_killed_or_stopped_leaves_nothing,
);
