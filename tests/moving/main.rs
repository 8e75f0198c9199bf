//! Moving a catalogue between stores with the real binary: copy, verify, export, import.
//!
//! Every test runs on each kind of store, or from each kind to each kind, that `kinds.rs` names.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod copy;
mod export;
mod export_file;
mod feed;
mod import;
mod interrupted;
mod kinds;
mod round_trips;
mod stretches;
mod support;

use serde_json::{Value, json};

use crate::support::command::{Finished, petstore};

/// Runs `petstore` with these words.
#[track_caller]
fn run(words: &[&str]) -> Finished {
    petstore(words).finish()
}

/// Copies, which must succeed: what it says.
#[track_caller]
fn copy(from: &str, to: &str) -> String {
    run(&["store", "copy", "--from", from, "--to", to]).succeeds()
}

/// Holds that both stores hold the same.
#[track_caller]
fn verify(from: &str, to: &str) {
    let said = run(&["store", "verify", "--from", from, "--to", to]).succeeds();
    assert!(said.contains("the stores are equal: "), "{said}");
}

/// Every animal of a store, written down.
#[track_caller]
fn exported(url: &str, format: &str) -> String {
    run(&["export", "--store", url, "--format", format]).succeeds()
}

/// Imports these lines from standard input.
#[track_caller]
fn import(url: &str, format: &str, text: &str) -> Finished {
    feed::feed(&["import", "--store", url, "--format", format], text)
}

/// A line for each animal, without identifiers.
fn many(count: usize) -> String {
    let line = |number| json!({"name": format!("Rex {number}"), "categoryId": number}).to_string();
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Animals whose names are awkward to write down.
fn awkward() -> Vec<Value> {
    let longest = "🐕".repeat(255);
    let names = [
        "Rex",
        "\"",
        "a \"quoted\" name",
        "a,b;c",
        ",",
        "'",
        "\\",
        "\\n",
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "=cmd|' /C calc'!A0",
        " leading",
        "trailing ",
        "\u{a0}no-break\u{a0}",
        "\u{2003}wide\u{2003}",
        "\u{feff}mark",
        "e\u{301}",
        "é",
        "👩‍👩‍👧‍👦",
        "\u{202e}olleh",
        "null",
        "id",
        "#",
        "NaN",
        "01",
        "<b>&amp;",
        "\u{2028}\u{2029}x",
        "\u{10ffff}",
        &longest,
    ];
    let statuses = [None, Some("available"), Some("pending"), Some("sold")];
    let categories = [0, 1, -1, i64::MAX, i64::MIN];
    let pets = names.iter().enumerate().map(|(index, name)| {
        let mut pet = json!({"name": name, "categoryId": categories[index % categories.len()]});
        if let Some(status) = statuses[index % statuses.len()] {
            pet["status"] = status.into();
        }
        pet
    });
    pets.collect()
}
