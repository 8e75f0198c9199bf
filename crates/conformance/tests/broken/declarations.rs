//! False declarations of a harness, and tests of what the kit does with a harness.

use std::{
    collections::{BTreeMap, BTreeSet},
    process,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use petstore_conformance::{
    BoxError, Capability, Harness, Outcome, PROMISES, ScratchStore, Store, act_as_child,
    act_in_child, check, run,
};
use petstore_memory::MemoryStore;

use crate::{
    flaw::Flaw,
    harness::{FaultyHarness, NOTHING},
    outages, outcomes,
};

/// Returns a flaw of a harness that declares a capability unsupported, although the store has it.
const fn denying(what: &'static str, capability: &'static [Capability]) -> Flaw {
    Flaw::new(what, &["what_is_declared_unsupported_is_not_there"], |_| ()).declaring(capability)
}

pub(crate) const FLAWS: &[Flaw] = &[
    denying("versions are declared unsupported", &[Capability::Version]),
    denying("an archive is declared unsupported", &[Capability::Archive]),
    denying("a handover is declared unsupported", &[Capability::Handover]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_needs_an_unsupported_capability_is_not_checked() {
    const UNSUPPORTED: &[Capability] =
        &[Capability::Reopen, Capability::SecondHandle, Capability::Outage];
    const FLAW: &Flaw = &denying("nothing", UNSUPPORTED);
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(FLAW));
    let needing: BTreeSet<_> = PROMISES
        .iter()
        .filter(|promise| promise.needs.iter().any(|need| UNSUPPORTED.contains(need)))
        .map(|promise| promise.name)
        .collect();
    let mut unchecked = BTreeSet::new();
    for (promise, outcome) in outcomes(harness).await {
        match &outcome {
            Outcome::Kept => {}
            Outcome::NotChecked { unsupported, .. } => {
                let why = format!("it needs {unsupported:?}, and this test says so");
                assert_eq!(outcome.to_string(), format!("not checked: {why}"));
                assert!(UNSUPPORTED.contains(unsupported), "{outcome}");
                unchecked.insert(promise.name);
            }
            Outcome::Broken(failure) => panic!("{}: {failure:?}", promise.name),
        }
    }
    assert_eq!(unchecked, needing);
    // A need too many would hide a promise from adapters that could keep it.
    let mut needs = BTreeMap::new();
    for need in PROMISES.iter().flat_map(|promise| promise.needs) {
        *needs.entry(format!("{need:?}")).or_insert(0) += 1;
    }
    let expected = "Archive: 18, DeletedRow: 1, Handover: 8, OtherProcess: 1, Outage: 1, \
                    RefusedRow: 1, Reopen: 1, SecondHandle: 2, Version: 5";
    assert_eq!(format!("{needs:?}").replace('"', ""), format!("{{{expected}}}"));
}

/// The time for which [`Empty`] leaves a thread running.
const LONG: Duration = Duration::from_mins(1);

/// A harness that returns no store.
struct Empty;

mod left_out {
    // The attribute leaves every test of a promise out. The tests would fail.
    petstore_conformance::conformance_tests!(super::Empty; #[cfg(false)]);
}

#[async_trait]
impl Harness for Empty {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        tokio::task::spawn_blocking(|| thread::sleep(LONG));
        Err("the disk is full".into())
    }
}

#[test]
fn a_promise_has_five_minutes_and_a_call_in_an_outage_ten_seconds_by_default() {
    let limits = [Empty.time_limit(), Empty.outage_timeout()];
    assert_eq!(limits, [300, 10].map(Duration::from_secs));
}

/// Carries out an action on a new store if another test started this program as a child.
#[test]
fn child() {
    let open = |_| async { Ok(Store::with_archive(Arc::new(MemoryStore::new()))) };
    if act_as_child(open).is_err() {
        // The failure is expected, so no report may say that a test failed.
        process::exit(101);
    }
}

#[test]
fn an_action_of_another_process_succeeds_or_fails_there() {
    act_in_child("declarations::child", "here", "add").unwrap();
    // The new store has no animals.
    let failed = act_in_child("declarations::child", "here", "find-three").unwrap_err();
    assert_eq!(failed.to_string(), "the process ended with exit status: 101");
}

#[test]
fn check_fails_for_a_promise_that_is_unknown_or_broken() {
    let begun = Instant::now();
    assert!(check(FaultyHarness::new(NOTHING), "no_such_promise").is_err());
    let broken = check(Empty, "a_fresh_store_is_empty").unwrap_err();
    let expected = "a_fresh_store_is_empty: the harness has no fresh store: the disk is full";
    assert_eq!(format!("{broken:?}"), expected);
    assert!(begun.elapsed() < LONG, "a thread that the adapter left delays the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_store_is_closed_before_it_is_opened_again_and_removed_at_the_end() {
    const REOPENING: &str = "reopening_keeps_what_was_acknowledged";
    const REVISIONS: &str = "a_revision_never_comes_back";
    const OUTAGE: &str = "an_unreachable_store_is_unavailable_and_comes_back";
    const UNCLOSED: &str = "broken: the store does not close: the disk is gone";
    const UNREMOVED: &str = "broken: the harness cannot remove the store: the disk is gone";
    const BROKEN: &Flaw = &Flaw::new("keys are lost", &[], |it| {
        it.reopened = Some(Box::new(|rows, _| rows.keys.clear()));
    });
    const ONE_HANDLE: &Flaw = &denying("nothing", &[Capability::SecondHandle]);
    const HANGS: &Flaw = &Flaw::new("a load hangs", &[], |it| {
        it.load.replace(|_, _| async { std::future::pending().await });
    });
    const PANICS: &Flaw =
        &Flaw::new("a load panics", &[], |it| it.load.edit_output(|_, _, _| panic!("no keys")));
    // After a failed removal, the kit removes no further store. A broken promise is more than a failed removal.
    for (flaw, name, failing, (closed, removed), expected) in [
        (NOTHING, REOPENING, "", (6, 1), "kept"),
        (NOTHING, REOPENING, "close", (1, 1), UNCLOSED),
        (NOTHING, REOPENING, "remove", (6, 1), UNREMOVED),
        (ONE_HANDLE, REOPENING, "", (3, 1), "kept"),
        (NOTHING, REVISIONS, "", (0, 3), "kept"),
        (NOTHING, REVISIONS, "remove", (0, 1), UNREMOVED),
        (BROKEN, REOPENING, "remove", (2, 1), "broken: Reopen by handle "),
        (HANGS, REVISIONS, "", (0, 2), "broken: the promise did not end within 1s"),
        (PANICS, REVISIONS, "", (0, 2), "broken: the promise panicked: task "),
        (&outages::FLAWS[0], OUTAGE, "", (0, 1), "broken: a list while cut off: "),
    ] {
        let mut harness = FaultyHarness::new(flaw);
        harness.time_limit = Duration::from_secs(if flaw.what == HANGS.what { 1 } else { 30 });
        let ends = Arc::clone(&harness.ends);
        *ends.failing.lock().unwrap() = failing;
        let harness: Arc<dyn Harness> = Arc::new(harness);
        let promise = PROMISES.iter().find(|promise| promise.name == name).unwrap();
        let outcome = run(&harness, promise).await.to_string();
        assert!(outcome.starts_with(expected), "{name}: {outcome}");
        let ended = [&ends.closed, &ends.removed].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(ended, [closed, removed], "closed and removed: {name}");
    }
}
