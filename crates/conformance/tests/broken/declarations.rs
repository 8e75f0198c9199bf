//! What a harness declares, and what becomes of it.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use petstore_conformance::{
    Capability, Harness, PROMISES, Problem, ScratchStore, Verdict, check, run,
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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unsupported_is_called_not_checked_with_its_reason() {
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
            Verdict::Kept => {}
            Verdict::NotChecked { unsupported, reason } => {
                assert!(UNSUPPORTED.contains(&unsupported) && reason == "this test says so");
                unchecked.insert(promise.name);
            }
            Verdict::Broken(broken) => panic!("{}: {broken:?}", promise.name),
        }
    }
    assert_eq!(unchecked, needing);
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
    let harness: Arc<dyn Harness> = Arc::new(Empty);
    for promise in PROMISES {
        let verdict = run(&harness, promise).await;
        assert!(matches!(verdict, Verdict::Broken(_)), "{}: {verdict}", promise.name);
    }
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
