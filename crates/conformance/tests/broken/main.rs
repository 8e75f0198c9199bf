//! Tests that the kit catches broken adapters. Each row of a table is an adapter with a flaw, and the promises that
//! must catch the flaw.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod archives;
mod declarations;
mod failures;
mod faults;
mod faulty;
mod fields;
mod flaw;
mod handovers;
mod harness;
mod identifiers;
mod keys;
mod lists;
mod names;
mod outages;
mod pets;
mod records;
mod reopening;
mod versions;
mod writes;

use std::{collections::BTreeSet, sync::Arc, thread};

use petstore_conformance::{Harness, Outcome, PROMISES, Promise, run};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use crate::{
    flaw::Flaw,
    harness::{FaultyHarness, NOTHING},
};

/// The number of runs in which a promise must catch its flaw at least once. One run may miss the flaw, because some
/// promises race tasks or choose at random.
const MAX_RUNS: u32 = 4;

fn runtime(one_thread: bool) -> Runtime {
    let mut builder =
        if one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build().unwrap()
}

async fn catches(harness: &Arc<dyn Harness>, promise: &Promise) -> bool {
    for _ in 0..MAX_RUNS {
        if let Outcome::Broken(failure) = run(harness, promise).await {
            // A promise that hangs has not noticed the flaw.
            return !failure.to_string().starts_with("the promise did not end");
        }
    }
    false
}

/// Asserts that every promise in `caught_by` catches its flaw. Most checks only wait, so all are made at once.
fn all_are_caught(flaws: &'static [Flaw]) {
    let pairs = flaws.iter().flat_map(|flaw| flaw.caught_by.iter().map(move |name| (flaw, *name)));
    let missed: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> =
            pairs.map(|(flaw, name)| scope.spawn(move || missed(flaw, name))).collect();
        running.into_iter().filter_map(|check| check.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Returns a line if the promise with this name does not catch the flaw.
fn missed(flaw: &'static Flaw, name: &str) -> Option<String> {
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(flaw));
    let promise = PROMISES.iter().find(|promise| promise.name == name);
    let promise = promise.unwrap_or_else(|| panic!("there is no promise '{name}'"));
    let is_caught = runtime(flaw.one_thread).block_on(catches(&harness, promise));
    (!is_caught).then(|| format!("{name} does not catch: {}", flaw.what))
}

/// Defines the list of all tables of flaws, and a test for each table.
macro_rules! caught {
    ($($test:ident: $flaws:expr;)*) => {
        fn tables() -> Vec<&'static [Flaw]> {
            vec![$($flaws),*]
        }

        $(#[test]
        fn $test() {
            all_are_caught($flaws);
        })*
    };
}

caught! {
    flaws_of_adding_and_finding_animals_are_caught: pets::FLAWS;
    changes_of_names_are_caught: pets::flaws().leak();
    flaws_of_listing_animals_are_caught: lists::FLAWS;
    flaws_of_idempotency_are_caught: records::FLAWS;
    changes_of_requests_are_caught: records::flaws().leak();
    flaws_of_api_keys_are_caught: keys::FLAWS;
    flaws_of_the_version_are_caught: versions::FLAWS;
    flaws_of_identifiers_are_caught: identifiers::FLAWS;
    flaws_of_reopening_are_caught: reopening::FLAWS;
    flaws_during_an_outage_are_caught: outages::FLAWS;
    flaws_of_snapshots_are_caught: archives::flaws().leak();
    flaws_of_restores_are_caught: archives::FLAWS;
    flaws_of_handovers_are_caught: handovers::FLAWS;
    flaws_of_writing_rows_are_caught: writes::FLAWS;
    false_declarations_are_caught: declarations::FLAWS;
    calls_that_fail_without_an_identifier_are_caught: identifiers::flaws().leak();
    changes_of_rows_are_caught: fields::FLAWS;
    wrong_answers_of_a_store_that_is_not_open_are_caught: handovers::flaws().leak();
    wrong_answers_during_an_outage_are_caught: outages::flaws().leak();
}

#[test]
fn every_promise_catches_some_flaw() {
    let named: BTreeSet<_> =
        tables().into_iter().flatten().flat_map(|flaw| flaw.caught_by).collect();
    for promise in PROMISES {
        assert!(named.contains(&promise.name), "no flaw must be caught by {}", promise.name);
    }
}

/// Checks all promises at once.
async fn outcomes(harness: Arc<dyn Harness>) -> Vec<(&'static Promise, Outcome)> {
    let check = |promise| {
        let harness = Arc::clone(&harness);
        async move { (promise, run(&harness, promise).await) }
    };
    PROMISES.iter().map(check).collect::<JoinSet<_>>().join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_without_a_flaw_keeps_every_promise() {
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(NOTHING));
    let mut broken = Vec::new();
    for (promise, outcome) in outcomes(harness).await {
        if outcome != Outcome::Kept {
            broken.push(format!("{}: {outcome}", promise.name));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
