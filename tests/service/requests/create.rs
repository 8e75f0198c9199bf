//! `POST /v1/pets`: interface, section 4.2.

use serde_json::json;

use crate::support::{
    catalogue::{add, everything, id_of, pet},
    shared,
    store::{Kind, on_stores},
};

on_stores! {
    every:
    an_added_animal_comes_back_with_its_identifier_and_place,
}

fn an_added_animal_comes_back_with_its_identifier_and_place(kind: Kind) {
    let server = shared::server_on(kind);
    let client = server.client();
    for new in [
        json!({"name": "Rex", "categoryId": 5, "status": "pending"}),
        json!({"name": "Zoe\u{308} <b>&amp;\"\\/'; DROP --", "categoryId": i64::MIN, "status": "sold"}),
        json!({"name": "\u{feff}%41\u{fffd}\u{10ffff}x\u{3000}", "categoryId": i64::MAX}),
        json!({"name": " 🐕".repeat(127), "categoryId": 5}),
    ] {
        let answer = client.add(&new).send().is(201);
        let added = answer.json();
        let id = id_of(&added);
        let mut expected = new.clone();
        expected["id"] = id.into();
        assert_eq!(added, expected);
        assert_eq!(answer.must("location"), format!("/v1/pets/{id}"));
        assert_eq!(answer.header("idempotency-replayed"), None);
        assert_eq!(client.get(answer.must("location")).send().is(200).json(), expected);
        assert!(everything(&client).contains(&expected));
    }
}

#[test]
fn identifiers_grow_and_equal_animals_are_two() {
    let server = shared::server();
    let client = server.client();
    let ids: Vec<_> = (0..5).map(|_| id_of(&add(&client, &pet("twin")))).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    assert!(ids[0] > 0);
}
