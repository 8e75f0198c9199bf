//! Identifiers after rows were changed by SQL, or written under their own identifiers.

use petstore_domain::{
    AddError, Added, Archive, HighestIds, IdempotencyId, IdempotencyRequest, KeyId, PetId,
    PetRepository, Rows, StoreError, WriterRole,
};

use crate::support::{NOW, Place, add, all, rex};

#[tokio::test]
async fn no_identifier_is_assigned_twice_after_changes_by_sql() {
    let place = Place::new();
    let store = place.open();
    let rows = Rows { pets: vec![rex().with_id(PetId(3))], ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    for (by_hand, next) in [
        ("DELETE FROM pet", 4),
        ("UPDATE pet SET id = 2 WHERE id = 4", 5),
        ("INSERT INTO pet VALUES (10, 'Rex', 1, NULL)", 11),
        ("INSERT INTO pet VALUES (-10, 'Rex', 1, NULL)", 12),
    ] {
        place.raw().execute(by_hand, []).unwrap();
        assert_eq!(add(&store).await.id, PetId(next), "{by_hand}");
    }
    assert_eq!(all(&store).await[0].id, PetId(-10));
    place.raw().execute("UPDATE pet SET id = 20 WHERE id = 12", []).unwrap();
    // The only key that was ever assigned is deleted.
    place.raw().execute("INSERT INTO sqlite_sequence VALUES ('api_key', 1)", []).unwrap();
    let highest = store.snapshot().await.unwrap().highest_ids().await.unwrap();
    assert_eq!(highest, HighestIds { pet: Some(PetId(20)), key: Some(KeyId(1)) });
}

#[tokio::test]
async fn only_the_additions_of_a_group_for_which_no_identifier_is_left_are_refused() {
    let place = Place::new();
    let store = place.open();
    let highest = HighestIds { pet: Some(PetId(i64::MAX - 2)), key: None };
    let rows = Rows { highest, ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    let request = Some(IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), NOW));
    let (one, two, three) =
        tokio::join!(store.add(rex(), request), store.add(rex(), None), store.add(rex(), None));
    let Ok(Added::Created(pet)) = one else { panic!("{one:?}") };
    two.unwrap();
    let refused = three.unwrap_err();
    assert!(matches!(refused, AddError::Store(StoreError::Refused(_))), "{refused}");
    let reason = "no identifier is left: the highest is 9223372036854775807";
    assert!(refused.to_string().ends_with(reason), "{refused}");
    // A repeat needs no identifier.
    assert_eq!(store.add(rex(), request).await.unwrap(), Added::Replayed(pet));
}
