//! What a harness declares, and what becomes of it.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use petstore_conformance::{
    Capability, Harness, PROMISES, Place, Problem, Promise, Summary, Verdict, check, run_all,
};

use crate::{bench::Bench, flawed::Nothing};

/// Declares that everything is lacking which is here.
struct Lacking(&'static [Capability]);

#[async_trait]
impl Harness for Lacking {
    async fn fresh(&self) -> Result<Box<dyn Place>, Problem> {
        Bench::with(Nothing).fresh().await
    }

    fn lacks(&self, capability: Capability) -> Option<&'static str> {
        self.0.contains(&capability).then_some("this test says so")
    }
}

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
async fn what_is_lacking_is_called_not_checked_with_its_reason() {
    let lacking = &[Capability::Reopen, Capability::SecondHandle, Capability::Outage];
    let (summary, verdicts) = verdicts(Lacking(lacking)).await;
    let needing: BTreeSet<_> = PROMISES
        .iter()
        .filter(|promise| promise.needs.iter().any(|need| lacking.contains(need)))
        .map(|promise| promise.name)
        .collect();
    let mut seen = BTreeSet::new();
    for (name, verdict) in &verdicts {
        if let Verdict::NotChecked { reason, .. } = verdict {
            assert_eq!(*reason, "this test says so");
            seen.insert(*name);
        }
    }
    assert_eq!(seen, needing);
    assert_eq!((summary.not_checked, summary.broken), (needing.len(), 0));
    assert!(summary.holds());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_false_declaration_is_caught() {
    for lacking in [&[Capability::Version], &[Capability::Archive]] {
        let (_, verdicts) = verdicts(Lacking(lacking)).await;
        let broken = verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Broken(_)));
        let broken: Vec<_> = broken.map(|(name, _)| *name).collect();
        assert_eq!(broken, ["what_is_declared_lacking_is_lacking"]);
    }
}

/// Has no store to hand out.
struct Empty;

#[async_trait]
impl Harness for Empty {
    async fn fresh(&self) -> Result<Box<dyn Place>, Problem> {
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
    assert!(!Summary { kept: 5, broken: 1, not_checked: 0 }.holds());
}

#[test]
fn a_test_of_a_promise_that_does_not_exist_fails() {
    assert!(check(Bench::with(Nothing), "no_such_promise").is_err());
    assert!(check(Bench::with(Nothing), "a_fresh_store_is_empty").is_ok());
    let broken = check(Empty, "a_fresh_store_is_empty").unwrap_err();
    let told = "a_fresh_store_is_empty: the harness has no fresh store: the disk is full";
    assert_eq!(format!("{broken:?}"), told);
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

#[test]
fn every_promise_is_broken_by_some_flaw_here() {
    let sources = [
        include_str!("additions.rs"),
        include_str!("archives.rs"),
        include_str!("declarations.rs"),
        include_str!("handles.rs"),
        include_str!("keys.rs"),
        include_str!("marks.rs"),
        include_str!("outages.rs"),
        include_str!("quotes.rs"),
        include_str!("reads.rs"),
        include_str!("records.rs"),
        include_str!("reopening.rs"),
    ];
    for promise in PROMISES {
        let named = format!("\"{}\"", promise.name);
        assert!(sources.iter().any(|source| source.contains(&named)), "nothing breaks {named}");
    }
}
