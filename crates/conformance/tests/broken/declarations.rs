//! What a harness declares, and what becomes of it.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use petstore_conformance::{
    Capability, Harness, PROMISES, Problem, Promise, ScratchStore, Summary, Verdict, check, run_all,
};

use crate::{
    faults::Faults,
    flaw::Flaw,
    harness::{FaultyHarness, NOTHING},
};

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "a version is declared unsupported, and it is there",
        &["what_is_declared_unsupported_is_not_there"],
        |_| Faults::default(),
    )
    .declaring(&[Capability::Version]),
    Flaw::new(
        "an archive is declared unsupported, and it is there",
        &["what_is_declared_unsupported_is_not_there"],
        |_| Faults::default(),
    )
    .declaring(&[Capability::Archive]),
];

async fn verdicts(harness: impl Harness) -> (Summary, Vec<(&'static str, Verdict)>) {
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let mut verdicts = Vec::new();
    let mut report = |promise: &Promise, verdict: &Verdict| {
        verdicts.push((promise.name, verdict.clone()));
    };
    let summary = run_all(&harness, &mut report).await;
    (summary, verdicts)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unsupported_is_called_not_checked_with_its_reason() {
    const UNSUPPORTED: &[Capability] =
        &[Capability::Reopen, Capability::SecondHandle, Capability::Outage];
    const FLAW: &Flaw = &Flaw::new("nothing", &[], |_| Faults::default()).declaring(UNSUPPORTED);
    let (summary, verdicts) = verdicts(FaultyHarness(FLAW)).await;
    let needing: BTreeSet<_> = PROMISES
        .iter()
        .filter(|promise| promise.needs.iter().any(|need| UNSUPPORTED.contains(need)))
        .map(|promise| promise.name)
        .collect();
    let mut unchecked = BTreeSet::new();
    for (name, verdict) in &verdicts {
        if let Verdict::NotChecked { reason, .. } = verdict {
            assert_eq!(*reason, "this test says so");
            unchecked.insert(*name);
        }
    }
    assert_eq!(unchecked, needing);
    assert_eq!((summary.not_checked, summary.broken), (needing.len(), 0));
    assert_eq!(summary.unsupported, UNSUPPORTED);
    assert!(summary.holds());
}

/// Has no store to hand out.
struct Empty;

#[async_trait]
impl Harness for Empty {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Err("the disk is full".into())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_cannot_do_its_part_keeps_nothing() {
    let (summary, _) = verdicts(Empty).await;
    assert_eq!((summary.kept, summary.broken), (0, PROMISES.len()));
    assert!(!summary.holds());
}

#[test]
fn where_nothing_was_checked_nothing_holds() {
    assert!(!Summary::default().holds());
    assert!(!Summary { not_checked: 5, ..Summary::default() }.holds());
    assert!(!Summary { kept: 5, broken: 1, ..Summary::default() }.holds());
}

#[test]
fn a_test_of_a_promise_that_does_not_exist_fails() {
    assert!(check(FaultyHarness(NOTHING), "no_such_promise").is_err());
    assert!(check(FaultyHarness(NOTHING), "a_fresh_store_is_empty").is_ok());
    let broken = check(Empty, "a_fresh_store_is_empty").unwrap_err();
    let expected = "a_fresh_store_is_empty: the harness has no fresh store: the disk is full";
    assert_eq!(format!("{broken:?}"), expected);
}

#[test]
fn no_two_promises_have_one_name_and_each_has_its_words() {
    let names: BTreeSet<_> = PROMISES.iter().map(|promise| promise.name).collect();
    assert_eq!(names.len(), PROMISES.len());
    assert!(PROMISES.iter().all(|promise| !promise.words.is_empty()));
    for capability in Capability::ALL {
        assert!(PROMISES.iter().any(|promise| promise.needs.contains(&capability)));
    }
}
