use std::{fs, sync::Arc};

use petstore_conformance::{Harness, PROMISES, Summary};

use super::{Kind, check, judge};
use crate::{console::recorded::Recorded, store_url::StoreUrl};

fn kind(url: &str) -> Arc<dyn Harness> {
    Arc::new(Kind::of(&StoreUrl::parse(url).unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_keeps_the_contract_and_says_what_was_not_checked() {
    let mut out = Recorded::default();
    check(&kind("memory:"), &mut out).await.unwrap();
    let lines: Vec<_> = out.answers.lines().collect();
    assert_eq!(lines.len(), PROMISES.len() + 1);
    assert_eq!(lines[1], "a_fresh_store_is_empty: kept");
    let reopening = "reopening_keeps_every_animal: not checked: it needs reopening, \
         and a store in memory ends with its only handle";
    assert!(lines.contains(&reopening), "{}", out.answers);
    assert!(lines[PROMISES.len()].contains(" kept, 0 broken, "), "{}", out.answers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_store_is_checked_beside_the_path_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("petstore.db");
    fs::write(&path, "not to be touched").unwrap();
    let url = format!("sqlite:{}?synchronous=normal", path.display());
    let kind = kind(&url);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    let place = kind.fresh().await.unwrap();
    drop(place.open().await.unwrap());
    drop((place, kind));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "not to be touched");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let url = StoreUrl::parse("sqlite:/nowhere/at/all.db").unwrap();
    let refusal = Kind::of(&url).map(drop).unwrap_err().to_string();
    assert!(refusal.starts_with("cannot make a directory in /nowhere/at: "), "{refusal}");
}

#[test]
fn broken_promises_and_no_promises_fail() {
    let end = |kept, broken, not_checked| {
        let mut out = Recorded::default();
        let summary = Summary { kept, broken, not_checked, ..Summary::default() };
        let end = judge(&summary, Ok(()), &mut out);
        (end.map_err(|failure| failure.to_string()), out.answers)
    };
    assert_eq!(end(2, 0, 1), (Ok(()), "3 promises: 2 kept, 0 broken, 1 not checked\n".to_owned()));
    assert_eq!(end(2, 1, 0).0, Err("the store breaks the contract".to_owned()));
    assert_eq!(end(0, 0, 3).0, Err("no promise was checked".to_owned()));
}
