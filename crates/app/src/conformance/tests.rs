use std::future::{pending, ready};

use petstore_conformance::{PROMISES, Summary};

use super::{check, check_until, conclude};
use crate::{console::recorded::Recorded, driver::ThrowAwayStores, stores};

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_keeps_the_contract_and_says_what_was_not_checked() {
    let mut out = Recorded::default();
    let location = stores::built_in().parse("memory:", false).unwrap();
    check(&location.throw_away().unwrap().harness, &mut out).await.unwrap();
    let lines: Vec<_> = out.answers.lines().collect();
    assert_eq!(lines.len(), PROMISES.len() + 1);
    assert_eq!(lines[1], "a_fresh_store_is_empty: kept");
    let reopening = "reopening_keeps_every_animal: not checked: it needs reopening, \
         and a store in memory ends with its only handle";
    assert!(lines.contains(&reopening), "{}", out.answers);
    assert!(lines[PROMISES.len()].contains(" kept, 0 broken, "), "{}", out.answers);
}

#[test]
fn broken_promises_and_no_promises_fail() {
    let end = |kept, broken, not_checked| {
        let mut out = Recorded::default();
        let end = conclude(
            &Summary { kept, broken, not_checked, ..Summary::default() },
            Ok(()),
            &mut out,
        );
        (end.map_err(|failure| failure.to_string()), out.answers)
    };
    assert_eq!(end(2, 0, 1), (Ok(()), "3 promises: 2 kept, 0 broken, 1 not checked\n".to_owned()));
    assert_eq!(end(2, 1, 0).0, Err("the store breaks the contract".to_owned()));
    assert_eq!(end(0, 0, 3).0, Err("no promise was checked".to_owned()));
}

fn throw_away() -> ThrowAwayStores {
    stores::built_in().parse("memory:", false).unwrap().throw_away().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_are_left_behind_are_a_failure() {
    let stores = throw_away().with_clean_up(async { Err("a schema is left".into()) });
    let end = check_until(pending(), stores, &mut Recorded::default()).await;
    assert_eq!(end.unwrap_err().to_string(), "a schema is left");
}

#[tokio::test]
async fn a_stop_before_every_promise_was_checked_is_a_failure() {
    let end = check_until(ready(()), throw_away(), &mut Recorded::default()).await;
    assert_eq!(end.unwrap_err().to_string(), "stopped before every promise was checked");
}
