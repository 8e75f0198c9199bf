//! `POST /v1/pets`: interface, section 4.2.

use serde_json::{Value, json};

use crate::support::{
    catalogue::{add, id_of, pet},
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
        json!({"name": "Rex", "categoryId": 5}),
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

#[test]
fn a_name_is_kept_byte_for_byte() {
    let longest = "🐕".repeat(255);
    let names = [
        "a",
        " Rex ",
        "Zoë",
        "Zoe\u{308}",
        "<b>&amp;\"\\/'",
        "\u{200b}",
        "\u{feff}Rex",
        "x\u{3000}",
        "𐍈",
        "\u{fffd}",
        "\u{10ffff}",
        "null",
        "%41",
        "'; DROP TABLE pets; --",
        &longest,
    ];
    let server = shared::server();
    let client = server.client();
    for name in names {
        let added = add(&client, &pet(name));
        assert_eq!(added["name"], name);
        let found = client.get(&format!("/v1/pets/{}", id_of(&added))).send().is(200).json();
        assert_eq!(found["name"], name);
    }
}

#[test]
fn escapes_and_white_space_are_only_a_way_of_writing() {
    let client = shared::server().client();
    let body =
        "\r\n\t { \"categoryId\" : 1 ,\n\"name\" : \"\\u0052\\u00e9x \\ud83d\\udc15 \\/\" } \n";
    let added = client.post("/v1/pets", body).send().is(201).json();
    assert_eq!(added["name"], "Réx 🐕 /");
    let body = r#"{"n\u0061me":"Rex","categoryId":-1,"st\u0061tus":"sol\u0064"}"#;
    let added = client.post("/v1/pets", body).send().is(201).json();
    assert_eq!((&added["name"], &added["status"]), (&json!("Rex"), &json!("sold")));
}

#[test]
fn any_int64_is_a_category() {
    let server = shared::server();
    for category in [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1] {
        let added = add(&server.client(), &json!({"name": "Rex", "categoryId": category}));
        assert_eq!(added["categoryId"], category);
    }
}

#[test]
fn the_length_of_a_name_counts_unicode_scalar_values() {
    let client = shared::server().client();
    let with_name = |name: String| {
        client.add(&Value::from_iter([("name", Value::from(name)), ("categoryId", Value::from(1))]))
    };
    for character in ["a", "é", "🐕"] {
        with_name(character.repeat(255)).send().is(201);
        let refusal = with_name(character.repeat(256)).send().refuses(400, "invalid_pet");
        let message = refusal.message();
        assert!(message.contains("name") && message.contains("255"), "{message}");
    }
}
