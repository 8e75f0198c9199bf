//! Rows that break a rule of the domain, because another program changed them.

use petstore_domain::{
    AddError, Archive as _, ArchiveError, Corruption, IdempotencyId, IdempotencyRequest, KeyId,
    KeySelector, PetId, PetRepository, Rows, StoreError, WriterRole, add_key, load_keys,
    revoke_keys,
};

use crate::support::{NOW, Place, add, new_key, query, rex};

fn corrupt<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Corruption {
    match result.unwrap_err() {
        StoreError::Corrupt(corruption) => corruption,
        error @ (StoreError::Unavailable(_) | StoreError::Sealed(_) | StoreError::Refused(_)) => {
            panic!("{error}")
        }
    }
}

#[tokio::test]
async fn the_error_for_an_animal_that_breaks_a_rule_names_it_and_other_animals_are_read() {
    for (change, rule) in [
        ("name = ''", "its name must have 1 to 255 characters, but is empty"),
        ("status = 'gone'", "its status must be one of available, pending, sold"),
        ("name = CAST(x'ff41' AS TEXT)", "invalid utf-8 sequence of 1 bytes from index 0"),
        ("status = CAST(x'ff41' AS TEXT)", "invalid utf-8 sequence of 1 bytes from index 0"),
    ] {
        let place = Place::new();
        let store = place.open();
        for _ in 0..3 {
            add(&store).await;
        }
        let raw = place.raw();
        let update = format!("UPDATE pet SET {change} WHERE id = 2");
        // The schema holds the rules of the domain.
        assert!(raw.execute(&update, []).is_err() || rule.contains("utf-8"), "{change}");
        raw.pragma_update(None, "ignore_check_constraints", true).unwrap();
        raw.execute(&update, []).unwrap();

        let expected = Corruption::new("animal 2", rule);
        assert_eq!(corrupt(store.find(PetId(2)).await), expected);
        assert_eq!(corrupt(store.list(query(20)).await), expected);
        let mut snapshot = store.snapshot().await.unwrap();
        assert_eq!(corrupt(snapshot.pets(None, 9).await), expected);
        let rows = Rows { pets: vec![rex().with_id(PetId(2))], ..Rows::default() };
        match store.write_rows(WriterRole::Service, rows).await {
            Err(ArchiveError::Store(refusal)) => assert_eq!(corrupt::<()>(Err(refusal)), expected),
            done => panic!("{change}: {done:?}"),
        }
        // Reads of other rows still work, also of the page that ends before the corrupt row.
        assert!(store.find(PetId(1)).await.unwrap().value.is_some());
        assert!(store.list(query(1)).await.unwrap().value.more);
        add(&store).await;
    }
}

#[tokio::test]
async fn the_error_for_a_corrupt_idempotency_record_names_its_kind() {
    let place = Place::new();
    let store = place.open();
    let insert = "INSERT INTO idempotency VALUES (1, x'00', zeroblob(32), 0)";
    place.raw().execute(insert, []).unwrap();
    let Corruption { what, rule } = corrupt(store.snapshot().await.unwrap().records(None, 9).await);
    assert_eq!(what, "an idempotency record");
    assert!(rule.contains("Cannot read 16 byte value"), "{rule}");
    // A repeat whose record cannot be read is no new request.
    place
        .raw()
        .execute("UPDATE idempotency SET id = zeroblob(16), fingerprint = x'00'", [])
        .unwrap();
    let request = IdempotencyRequest::new(IdempotencyId([0; 16]), &rex(), NOW);
    match store.add(rex(), Some(request)).await {
        Err(AddError::Store(StoreError::Corrupt(found))) => assert_eq!(found.what, what),
        done => panic!("{done:?}"),
    }
}

#[tokio::test]
async fn the_error_for_a_corrupt_api_key_names_it_and_other_keys_are_read() {
    let place = Place::new();
    let store = place.open();
    let mut keys = Vec::new();
    for (seed, name) in [(1, "a"), (2, "b"), (3, "c")] {
        keys.push(add_key(&store, new_key(seed, name)).await.unwrap());
    }
    for (change, rule) in [
        ("digest = zeroblob(31)", "a digest has 32 bytes"),
        ("prefix = CAST(x'ff' AS TEXT)", "invalid utf-8 sequence of 1 bytes from index 0"),
    ] {
        place.raw().execute(&format!("UPDATE api_key SET {change} WHERE id = 2"), []).unwrap();
        let expected = Corruption::new("API key 2", rule);
        let found = load_keys(&store).await.unwrap();
        assert_eq!(found.keys, [keys[0].clone(), keys[2].clone()]);
        assert_eq!(found.next_id, KeyId(4));
        let [named] = found.corrupt.try_into().unwrap();
        assert_eq!(named.corruption, expected);
        assert_eq!((named.id, named.name.as_deref()), (Some(KeyId(2)), Some("b")));
        let revoked = revoke_keys(&store, KeySelector::Id(KeyId(2)), NOW).await;
        assert_eq!(corrupt(revoked), expected);
        let copied = store.snapshot().await.unwrap().keys().await;
        assert_eq!(corrupt(copied), expected);
    }
}
