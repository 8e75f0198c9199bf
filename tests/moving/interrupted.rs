//! Imports that are cut off, and continue when they are run again. `marked.rs` has copies that are cut off.

use std::{io::Write as _, thread, time::Duration};

use super::{
    animals::many,
    commands::{exported, fed, made},
    paused::{end, run_until},
};
use crate::support::{
    catalogue,
    command::{Running, ended, petstore},
    server::Server,
    store::{Kind, Store, on_stores},
};

/// Returns the number of animals: 6 batches, or on etcd 160 batches, which are smaller.
fn pets(kind: Kind) -> usize {
    kind.batch() * if kind == Kind::Etcd { 160 } else { 6 }
}

/// Starts an import of `text`: from `file`, or from standard input if `file` is `None`.
fn importing(store: &Store, file: Option<&str>, text: &str) -> Running {
    let words = ["import", "--store", &store.url];
    if let Some(file) = file {
        return petstore(&[&words[..], &[file]].concat()).spawn();
    }
    let mut running = fed(&words);
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    running
}

fn an_interrupted_import_continues_and_adds_nothing_twice(kind: Kind) {
    let text = many(pets(kind));
    for (signal, from_file) in [("KILL", true), ("KILL", false), ("TERM", true)] {
        let store = made(kind);
        let path = store.write("pets.ndjson", &text);
        let file = from_file.then_some(&*path);
        let running = importing(&store, file, &text);
        run_until(&running, "the store has some animals", || store.try_pets() > Some(0));
        let output = end(running, signal);
        let found = store.pets();
        assert!(found < pets(kind) && found.is_multiple_of(kind.batch()), "{found}");
        if signal == "TERM" {
            let said = output.stderr;
            let expected =
                format!("petstore: stored up to line {found}: it was stopped; run it again");
            assert!(said.contains(&expected), "{found}: {said}");
        }
        let said = ended(importing(&store, file, &text)).stdout;
        let numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        let numbers: Vec<usize> = numbers.take(2).collect();
        // A server may finish the commit of a client that was killed.
        assert!(numbers[1] >= found && numbers[0] + numbers[1] == pets(kind), "{found}: {said}");
        // The store has the animals of the file, in the order of the file.
        let lines = exported(&store.url, "ndjson");
        assert_eq!(lines.lines().count(), pets(kind));
        for (number, line) in lines.lines().enumerate() {
            let animal = format!("\"name\":\"Rex {number}\",\"categoryId\":{number}}}");
            assert!(line.ends_with(&animal), "{number}: {line}");
        }
    }
}

#[petstore_testing::needs(time)]
#[test]
fn an_import_before_its_first_write_blocks_no_addition_and_can_be_stopped() {
    let (store, server) = Server::on_file();
    let signals = [("KILL", None), ("TERM", Some(1)), ("INT", Some(1))];
    for (number, (signal, code)) in signals.into_iter().enumerate() {
        let mut running = fed(&["import", "--store", &store.url]);
        let mut input = running.stdin.take().unwrap();
        input.write_all(many(20_000).as_bytes()).unwrap();
        // The input has no end yet, so the command only reads, and writes nothing.
        thread::sleep(Duration::from_millis(300));
        catalogue::add(&server.client(), &catalogue::pet("Beside"));
        let output = end(running, signal);
        assert_eq!(output.code, code);
        let expected = "petstore: nothing was stored: it was stopped\n";
        assert_eq!(output.stderr, if code.is_some() { expected } else { "" });
        assert_eq!(store.pets(), number + 1);
        drop(input);
    }
}

on_stores!(
    lasting:
    #[petstore_testing::needs(time)]
    an_interrupted_import_continues_and_adds_nothing_twice,
);
