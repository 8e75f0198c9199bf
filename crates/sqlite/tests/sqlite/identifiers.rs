//! Identifiers after rows were changed by SQL, or written under their own identifiers.

use petstore_domain::{
    AddError, Added, Archive, HighestIds, KeyId, PetId, PetRepository, Rows, StoreError,
    WriterRole, add_key,
};

use crate::support::{Place, add, new_key, once, rex};

#[tokio::test]
async fn no_identifier_is_assigned_twice_after_changes_by_sql() {
    let place = Place::new();
    let store = place.open();
    for id in 1..=3 {
        assert_eq!(add(&store, rex()).await.id, PetId(id));
    }
    drop(store);
    place.raw().execute("DELETE FROM pet WHERE id >= 2", []).unwrap();
    let store = place.open();
    assert_eq!(add(&store, rex()).await.id, PetId(4));
    for (by_hand, next) in [
        ("UPDATE pet SET id = 2 WHERE id = 4", 5),
        ("DELETE FROM pet", 6),
        ("INSERT INTO pet VALUES (10, 'Rex', 1, NULL)", 11),
        ("INSERT INTO pet VALUES (-10, 'Rex', 1, NULL)", 12),
    ] {
        place.raw().execute(by_hand, []).unwrap();
        assert_eq!(add(&store, rex()).await.id, PetId(next), "{by_hand}");
    }
}

#[tokio::test]
async fn the_identifier_of_a_written_and_deleted_animal_is_not_assigned_again() {
    let place = Place::new();
    let store = place.open();
    let rows = Rows { pets: vec![rex().with_id(PetId(7))], ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    place.raw().execute("DELETE FROM pet", []).unwrap();
    assert_eq!(add(&store, rex()).await.id, PetId(8));
}

#[tokio::test]
async fn after_the_last_identifier_additions_are_refused() {
    let place = Place::new();
    let store = place.open();
    let before_last = "INSERT INTO pet VALUES (9223372036854775806, 'Rex', 1, NULL)";
    place.raw().execute(before_last, []).unwrap();
    assert_eq!(add(&store, rex()).await.id, PetId(i64::MAX));
    for _ in 0..2 {
        let refused = store.add(rex(), None).await.unwrap_err();
        assert!(matches!(refused, AddError::Store(StoreError::Refused(_))), "{refused}");
        let message = refused.to_string();
        assert!(
            message.ends_with("no identifier is left: the highest is 9223372036854775807"),
            "{message}"
        );
        let several = store.add_new(vec![rex(), rex()], None).await.unwrap_err().to_string();
        assert!(several.contains("no identifier is left"), "{several}");
        place.raw().execute("DELETE FROM pet", []).unwrap();
    }
}

#[tokio::test]
async fn only_the_additions_of_a_group_for_which_no_identifier_is_left_are_refused() {
    let place = Place::new();
    let store = place.open();
    let highest = HighestIds { pet: Some(PetId(i64::MAX - 2)), key: None };
    let rows = Rows { highest, ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    let (one, two, three) = tokio::join!(
        store.add(rex(), Some(once())),
        store.add(rex(), None),
        store.add(rex(), None)
    );
    assert!(one.is_ok() && two.is_ok());
    let refused = three.unwrap_err();
    assert!(matches!(refused, AddError::Store(StoreError::Refused(_))), "{refused}");
    assert_eq!(
        store.add(rex(), Some(once())).await.unwrap(),
        one.map(|added| match added {
            Added::Created(pet) | Added::Replayed(pet) => Added::Replayed(pet),
        })
        .unwrap(),
        "a replay, which needs no identifier, has another answer"
    );
}

#[tokio::test]
async fn a_snapshot_has_the_highest_identifiers_after_their_rows_are_deleted() {
    let place = Place::new();
    let store = place.open();
    let highest = async || store.snapshot().await.unwrap().highest_ids().await.unwrap();
    assert_eq!(highest().await, HighestIds::default());
    for seed in 1..=3 {
        add(&store, rex()).await;
        add_key(&store, new_key(seed, &format!("k{seed}"))).await.unwrap();
    }
    place
        .raw()
        .execute_batch("DELETE FROM pet WHERE id > 1; DELETE FROM api_key WHERE id > 1")
        .unwrap();
    let of_three = HighestIds { pet: Some(PetId(3)), key: Some(KeyId(3)) };
    assert_eq!(highest().await, of_three);
    let target = Place::new();
    let copy = target.open();
    for highest in [of_three, HighestIds { pet: Some(PetId(2)), key: None }] {
        let rows = Rows { highest, ..Rows::default() };
        copy.write_rows(WriterRole::Service, rows).await.unwrap();
    }
    drop(copy);
    let copy = target.open();
    assert_eq!(copy.snapshot().await.unwrap().highest_ids().await.unwrap(), of_three);
    assert_eq!(add(&copy, rex()).await.id, PetId(4));
    assert_eq!(add_key(&copy, new_key(9, "web")).await.unwrap().id, KeyId(4));
    // A changed identifier counts too.
    place.raw().execute("UPDATE pet SET id = 9", []).unwrap();
    assert_eq!(highest().await.pet, Some(PetId(9)));
}
