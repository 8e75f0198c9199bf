//! False declarations of a harness, and tests of what the kit does with a harness.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use petstore_conformance::{
    BoxError, Capability, Harness, Outcome, PROMISES, ScratchStore, Store, check, run,
};

use crate::{
    faults::Faults,
    flaw::Flaw,
    harness::{FaultyHarness, NOTHING},
};

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "versions are declared unsupported, but the store has them",
        &["what_is_declared_unsupported_is_not_there"],
        |_| Faults::default(),
    )
    .declaring(&[Capability::Version]),
    Flaw::new(
        "an archive is declared unsupported, but the store has it",
        &["what_is_declared_unsupported_is_not_there"],
        |_| Faults::default(),
    )
    .declaring(&[Capability::Archive]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_needs_an_unsupported_capability_is_not_checked() {
    const UNSUPPORTED: &[Capability] =
        &[Capability::Reopen, Capability::SecondHandle, Capability::Outage];
    const FLAW: &Flaw = &Flaw::new("nothing", &[], |_| Faults::default()).declaring(UNSUPPORTED);
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness(FLAW));
    let needing: BTreeSet<_> = PROMISES
        .iter()
        .filter(|promise| promise.needs.iter().any(|need| UNSUPPORTED.contains(need)))
        .map(|promise| promise.name)
        .collect();
    let mut unchecked = BTreeSet::new();
    for promise in PROMISES {
        match run(&harness, promise).await {
            Outcome::Kept => {}
            Outcome::NotChecked { unsupported, reason } => {
                assert!(UNSUPPORTED.contains(&unsupported) && reason == "this test says so");
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

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_broken_if_the_harness_fails() {
    let harness: Arc<dyn Harness> = Arc::new(Empty);
    for promise in PROMISES {
        let outcome = run(&harness, promise).await;
        assert!(matches!(outcome, Outcome::Broken(_)), "{}: {outcome}", promise.name);
    }
}

#[test]
fn check_fails_for_a_promise_that_is_unknown_or_broken() {
    assert!(check(FaultyHarness(NOTHING), "no_such_promise").is_err());
    assert!(check(FaultyHarness(NOTHING), "a_fresh_store_is_empty").is_ok());
    let broken = check(Empty, "a_fresh_store_is_empty").unwrap_err();
    let expected = "a_fresh_store_is_empty: the harness has no fresh store: the disk is full";
    assert_eq!(format!("{broken:?}"), expected);
}

#[test]
fn promise_names_are_unique_and_every_capability_is_used() {
    let names: BTreeSet<_> = PROMISES.iter().map(|promise| promise.name).collect();
    assert_eq!(names.len(), PROMISES.len());
    let needed: HashSet<Capability> =
        PROMISES.iter().flat_map(|promise| promise.needs).copied().collect();
    assert_eq!(needed.len(), 9, "a capability is needed by no promise");
}

/// A harness that counts the closed and the removed stores. Removing a store fails if `fails` is `true`.
struct Counting {
    harness: FaultyHarness,
    counts: Arc<Counts>,
    fails: bool,
}

#[derive(Default)]
struct Counts {
    closed: AtomicUsize,
    removed: AtomicUsize,
}

struct Counted {
    scratch: Box<dyn ScratchStore>,
    counts: Arc<Counts>,
    fails: bool,
}

#[async_trait]
impl Harness for Counting {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        let (scratch, counts) = (self.harness.fresh().await?, Arc::clone(&self.counts));
        Ok(Box::new(Counted { scratch, counts, fails: self.fails }))
    }
}

#[async_trait]
impl ScratchStore for Counted {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        self.scratch.open(reads_while_sealed).await
    }

    async fn close(&self, store: Store) -> Result<(), BoxError> {
        self.counts.closed.fetch_add(1, Ordering::SeqCst);
        self.scratch.close(store).await
    }

    async fn remove(&self) -> Result<(), BoxError> {
        self.counts.removed.fetch_add(1, Ordering::SeqCst);
        if self.fails { Err("the disk is gone".into()) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_store_is_closed_before_it_is_opened_again_and_removed_at_the_end() {
    const BROKEN: &Flaw =
        &Flaw::new("keys are lost", &[], |_| crate::reopening::changed(|it| it.keys.clear()));
    for (flaw, name, closed, removed) in [
        (NOTHING, "reopening_keeps_what_was_acknowledged", 6, 1),
        (NOTHING, "a_revision_never_comes_back", 0, 3),
        (BROKEN, "reopening_keeps_what_was_acknowledged", 2, 1),
    ] {
        for fails in [false, true] {
            let counts = Arc::<Counts>::default();
            let harness = FaultyHarness(flaw);
            let harness: Arc<dyn Harness> =
                Arc::new(Counting { harness, counts: Arc::clone(&counts), fails });
            let promise = PROMISES.iter().find(|promise| promise.name == name).unwrap();
            let outcome = run(&harness, promise).await;
            let is_kept = std::ptr::eq(flaw, NOTHING) && !fails;
            assert_eq!(outcome == Outcome::Kept, is_kept, "{name}: {outcome}");
            assert_eq!(counts.closed.load(Ordering::SeqCst), closed, "closed: {name}");
            // After a failed removal, the kit removes no further store.
            let expected = if fails { 1 } else { removed };
            assert_eq!(counts.removed.load(Ordering::SeqCst), expected, "removed: {name}");
        }
    }
}
