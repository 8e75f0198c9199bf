//! Rows that break a rule of the domain, because another program changed them.

use petstore_domain::{
    Added, Archive as _, Corruption, KeyId, KeySelector, PetId, PetRepository, StoreError, add_key,
    load_keys, revoke_keys, roll_key,
};

use crate::support::{NOW, Place, add, new_key, once, query, rex};

fn corrupt<T: std::fmt::Debug>(result: Result<T, StoreError>) -> (String, String) {
    match result.unwrap_err() {
        StoreError::Corrupt(Corruption { what, rule }) => (what, rule),
        error @ (StoreError::Unavailable(_) | StoreError::Sealed(_) | StoreError::Refused(_)) => {
            panic!("{error}")
        }
    }
}

#[tokio::test]
async fn the_error_for_an_animal_that_breaks_a_rule_names_it() {
    let table = [
        ("name = ''", "its name must have 1 to 255 characters, but is empty"),
        ("name = '  '", "its name must not be white space alone"),
        (
            "name = replace(hex(zeroblob(150)), '0', 'x')",
            "its name must have 1 to 255 characters, but has 300",
        ),
        (
            "name = 'a' || char(10)",
            "its name must not have control characters, but has U+000A at index 1",
        ),
        ("status = 'gone'", "its status must be one of available, pending, sold"),
    ];
    for (change, rule) in table {
        let place = Place::new();
        let store = place.open();
        for _ in 0..3 {
            add(&store, rex()).await;
        }
        let raw = place.raw();
        raw.pragma_update(None, "ignore_check_constraints", true).unwrap();
        raw.execute(&format!("UPDATE pet SET {change} WHERE id = 2"), []).unwrap();

        let expected = ("animal 2".to_owned(), rule.to_owned());
        assert_eq!(corrupt(store.find(PetId(2)).await), expected);
        assert_eq!(corrupt(PetRepository::list(&store, query(20, None)).await), expected);
        // Reads of other rows still work, also of the page that ends before the corrupt row.
        assert!(store.find(PetId(1)).await.unwrap().value.is_some());
        assert!(PetRepository::list(&store, query(1, None)).await.unwrap().value.more);
        add(&store, rex()).await;
    }
}

#[tokio::test]
async fn the_error_for_text_that_is_not_utf_8_names_the_row() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    place.raw().execute("UPDATE pet SET name = CAST(x'ff41' AS TEXT)", []).unwrap();
    let (what, rule) = corrupt(store.find(PetId(1)).await);
    assert_eq!(what, "animal 1");
    assert!(rule.contains("utf-8"), "{rule}");
}

#[tokio::test]
async fn the_error_for_a_corrupt_api_key_names_it_and_other_keys_work() {
    let table = [
        (
            "name = 'a' || replace(hex(zeroblob(32)), '0', 'x')",
            "a key's name is an ASCII letter, then up to 63 ASCII letters, digits, '.', '_' or '-'",
        ),
        ("digest = zeroblob(31)", "a digest has 32 bytes"),
        ("digest = zeroblob(33)", "a digest has 32 bytes"),
    ];
    for (change, rule) in table {
        let place = Place::new();
        let store = place.open();
        let mut keys = Vec::new();
        for (seed, name) in [(1, "a"), (2, "b"), (3, "c")] {
            keys.push(add_key(&store, new_key(seed, name)).await.unwrap());
        }
        place.raw().execute(&format!("UPDATE api_key SET {change} WHERE id = 2"), []).unwrap();

        let expected = ("API key 2".to_owned(), rule.to_owned());
        let found = load_keys(&store).await.unwrap();
        assert_eq!(found.keys, [keys[0].clone(), keys[2].clone()]);
        let [named] = found.corrupt.try_into().unwrap();
        assert_eq!(named.corruption, Corruption::new(&expected.0, &expected.1));
        assert_eq!(
            (named.id, named.name.is_some(), found.next_id),
            (Some(KeyId(2)), true, KeyId(4))
        );
        let revoked = revoke_keys(&store, KeySelector::Id(KeyId(2)), NOW).await;
        assert_eq!(corrupt(revoked), expected);
        let copied = store.snapshot().await.unwrap().keys().await;
        assert_eq!(corrupt(copied), expected);

        add_key(&store, new_key(4, "d")).await.unwrap();
        roll_key(&store, new_key(5, "a"), NOW).await.unwrap();
        let revoked = revoke_keys(&store, KeySelector::Name(keys[2].name.clone()), NOW).await;
        assert_eq!(revoked.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_replay_returns_the_first_answer_even_if_the_row_has_changed() {
    let place = Place::new();
    let store = place.open();
    PetRepository::add(&store, rex(), Some(once())).await.unwrap();
    let first = Added::Replayed(rex().with_id(PetId(1)));
    for change in ["UPDATE pet SET name = 'Bello'", "DELETE FROM pet"] {
        place.raw().execute(change, []).unwrap();
        let replay = PetRepository::add(&store, rex(), Some(once()));
        let (replay, other) = tokio::join!(replay, PetRepository::add(&store, rex(), None));
        assert_eq!(replay.unwrap(), first, "{change}");
        other.unwrap();
    }
    let mut snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.records(None, 9).await.unwrap(), [once().into_record(PetId(1))]);
    assert_eq!(snapshot.counts().await.unwrap().records, 1);
}

#[tokio::test]
async fn the_error_for_a_missing_or_invalid_version_names_it() {
    for change in ["DELETE FROM petstore_state", "UPDATE petstore_state SET version = x'00'"] {
        let place = Place::new();
        let store = place.open();
        add(&store, rex()).await;
        place.raw().execute(change, []).unwrap();
        let (what, rule) = corrupt(store.find(PetId(1)).await);
        assert_eq!(what, "the version of the catalogue");
        assert_eq!(rule, "the version is present and has 16 bytes");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(PetRepository::version(&store), None);
    }
}
