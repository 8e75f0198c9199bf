//! Animals as JSON, and requests that add and list them.

use serde_json::{Value, json};

use super::{answer::Answer, client::Client, rules};

pub(crate) const STATUSES: [&str; 3] = ["available", "pending", "sold"];

/// Returns the body of an addition without a status.
pub(crate) fn pet(name: &str) -> Value {
    json!({"name": name, "categoryId": 1})
}

/// Returns the body of an addition.
pub(crate) fn pet_with_status(name: &str, status: &str) -> Value {
    json!({"name": name, "categoryId": 1, "status": status})
}

/// Adds an animal. Returns the animal of the answer.
#[track_caller]
pub(crate) fn add(client: &Client, pet: &Value) -> Value {
    let added = client.add(pet).send().is(201).json();
    assert!(rules::is_pet(&added), "{added}");
    added
}

/// Returns the identifier of an animal.
#[track_caller]
pub(crate) fn id_of(pet: &Value) -> i64 {
    pet["id"].as_i64().unwrap()
}

/// Returns the animals of one page.
#[track_caller]
pub(crate) fn pets(page: &Answer) -> Vec<Value> {
    let Value::Array(pets) = page.json() else { panic!("a bare array expected: {page:?}") };
    assert!(pets.iter().all(rules::is_pet), "{page:?}");
    assert!(pets.is_sorted_by(|one, next| id_of(one) < id_of(next)), "{page:?}");
    pets
}

/// Follows the links to the next page from `target` on. Returns the animals of each page.
#[track_caller]
pub(crate) fn walk(client: &Client, target: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut next = Some(target.to_owned());
    while let Some(target) = next {
        let page = client.get(&target).send().is(200);
        next = page.link("next");
        pages.push(pets(&page));
    }
    pages
}

/// Returns every animal of the service.
#[track_caller]
pub(crate) fn everything(client: &Client) -> Vec<Value> {
    walk(client, "/v1/pets?limit=100").concat()
}
