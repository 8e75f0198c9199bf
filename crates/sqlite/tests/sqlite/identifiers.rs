//! Identifiers, when animals are changed by hand or written under their own.

use petstore_domain::{Archive, Batch, PetId, PetRepository};

use crate::support::{Place, add, rex};

#[tokio::test]
async fn no_identifier_is_assigned_twice_whatever_is_done_by_hand() {
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
async fn an_identifier_of_a_batch_is_not_assigned_again_though_its_animal_is_deleted() {
    let place = Place::new();
    let store = place.open();
    store.write(Batch { pets: vec![rex().with_id(PetId(7))], ..Batch::default() }).await.unwrap();
    place.raw().execute("DELETE FROM pet", []).unwrap();
    assert_eq!(add(&store, rex()).await.id, PetId(8));
}

#[tokio::test]
async fn the_last_identifier_leaves_none() {
    let place = Place::new();
    let store = place.open();
    let before_last = "INSERT INTO pet VALUES (9223372036854775806, 'Rex', 1, NULL)";
    place.raw().execute(before_last, []).unwrap();
    assert_eq!(add(&store, rex()).await.id, PetId(i64::MAX));
    for _ in 0..2 {
        assert_eq!(
            store.add(rex(), None).await.unwrap_err().to_string(),
            "the store cannot answer: the transaction was rolled back: no identifier is left: \
             the highest, 9223372036854775807, is taken"
        );
        place.raw().execute("DELETE FROM pet", []).unwrap();
    }
}
