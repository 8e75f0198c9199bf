//! The texts of failures, which name the first difference in one short line.

use std::sync::Arc;

use petstore_conformance::{Harness, Outcome, PROMISES, run};

use crate::{flaw::Flaw, harness::FaultyHarness, tables};

/// Returns the failure of the first promise that must catch the flaw.
async fn failure(flaw: &'static Flaw) -> String {
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(flaw));
    let promise = PROMISES.iter().find(|promise| promise.name == flaw.caught_by[0]).unwrap();
    match run(&harness, promise).await {
        Outcome::Broken(failure) => failure.to_string(),
        other @ (Outcome::Kept | Outcome::NotChecked { .. }) => panic!("{}: {other}", flaw.what),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_names_the_first_difference() {
    let flaws: Vec<_> = tables().into_iter().flatten().collect();
    for (what, expected) in [
        ("'add' is Late during an outage", "adding did not end within 500ms"),
        ("only 9,999 animals are added", "how many animals were added: 9999 instead of 10000"),
        (
            "`more` is always false",
            "the older animals in a walk by 1: element 1 and the length: (None, 1) instead of \
             (Some(2), 60)",
        ),
        (
            "noting a hundred uses is an error",
            "unexpected error: the store refuses it, and will again: the uses are wrong",
        ),
    ] {
        let flaw = flaws.iter().find(|flaw| flaw.what == what).unwrap();
        assert_eq!(failure(flaw).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_shortens_digests_and_long_values() {
    const LONG: &Flaw = &Flaw::new("long prefixes", &["a_key_comes_back_as_it_was_given"], |it| {
        it.load.edit_output(|_, _, loaded| {
            let keys = loaded.iter_mut().flat_map(|loaded| &mut loaded.keys);
            keys.for_each(|key| key.prefix = "é".repeat(1_000));
        });
    });
    let text = failure(LONG).await;
    assert!(text.contains("digest: KeyDigest([2e946f7b…]), prefix: \"éé"), "{text}");
    assert!(text.contains("éé… instead of (Some(ApiKey {"), "{text}");
    assert!(text.chars().count() < 800, "{text}");
}
