//! False declarations of a harness, and tests of what the kit does with a harness.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{
    BoxError, Capability, Harness, Outcome, PROMISES, ScratchStore, check, run,
};

use crate::{
    flaw::Flaw,
    harness::{FaultyHarness, NOTHING},
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
    for promise in PROMISES {
        let outcome = run(&harness, promise).await;
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
}

/// A harness that returns no store.
struct Empty;

#[async_trait]
impl Harness for Empty {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Err("the disk is full".into())
    }
}

#[test]
fn a_promise_has_five_minutes_and_a_call_in_an_outage_ten_seconds_by_default() {
    let limits = [Empty.time_limit(), Empty.outage_timeout()];
    assert_eq!(limits, [300, 10].map(Duration::from_secs));
}

#[test]
fn check_fails_for_a_promise_that_is_unknown_or_broken() {
    assert!(check(FaultyHarness::new(NOTHING), "no_such_promise").is_err());
    let broken = check(Empty, "a_fresh_store_is_empty").unwrap_err();
    let expected = "a_fresh_store_is_empty: the harness has no fresh store: the disk is full";
    assert_eq!(format!("{broken:?}"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_store_is_closed_before_it_is_opened_again_and_removed_at_the_end() {
    const BROKEN: &Flaw =
        &Flaw::new("keys are lost", &[], |it| it.reopened = Some(|rows, _| rows.keys.clear()));
    for (flaw, name, closed, removed) in [
        (NOTHING, "reopening_keeps_what_was_acknowledged", 6, 1),
        (NOTHING, "a_revision_never_comes_back", 0, 3),
        (BROKEN, "reopening_keeps_what_was_acknowledged", 2, 1),
    ] {
        for fails in [false, true] {
            let harness = FaultyHarness::new(flaw);
            let ends = Arc::clone(&harness.ends);
            ends.removal_fails.store(fails, Ordering::SeqCst);
            let harness: Arc<dyn Harness> = Arc::new(harness);
            let promise = PROMISES.iter().find(|promise| promise.name == name).unwrap();
            let outcome = run(&harness, promise).await;
            let is_kept = std::ptr::eq(flaw, NOTHING) && !fails;
            assert_eq!(outcome == Outcome::Kept, is_kept, "{name}: {outcome}");
            assert_eq!(ends.closed.load(Ordering::SeqCst), closed, "closed: {name}");
            // After a failed removal, the kit removes no further store.
            let expected = if fails { 1 } else { removed };
            assert_eq!(ends.removed.load(Ordering::SeqCst), expected, "removed: {name}");
        }
    }
}
