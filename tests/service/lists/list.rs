//! `GET /v1/pets`: interface, section 4.1.

use serde_json::{Value, json};

use crate::support::{
    catalogue::{STATUSES, add, id_of, pet, pet_with_status, pets, walk},
    server::{Launch, Server},
    shared,
    store::{Kind, Store, on_stores},
};

on_stores! {
    every:
    a_filter_lets_only_its_status_through,
    an_animal_is_listed_as_it_was_added,
}

#[test]
fn an_empty_catalogue_is_an_empty_array_without_a_link() {
    let store = Store::sqlite();
    let server = Launch::on(&store).start();
    for target in ["/v1/pets", "/v1/pets?status=sold", "/v1/pets?limit=100"] {
        let page = server.client().get(target).send().is(200);
        assert_eq!(page.text(), "[]");
        assert_eq!(page.header("link"), None);
    }
}

#[test]
fn a_page_holds_twenty_animals_unless_told_otherwise() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    let added: Vec<_> = (0..21).map(|n| add(&client, &pet(&format!("n{n}")))).collect();

    let page = client.get("/v1/pets").send().is(200);
    assert_eq!(pets(&page), added[..20]);
    let next = page.must("link");
    let cursor = next
        .strip_prefix("</v1/pets?limit=20&cursor=")
        .and_then(|rest| rest.strip_suffix(">; rel=\"next\""))
        .unwrap_or_else(|| panic!("{next}"));
    let url_safe = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    assert!((1..=128).contains(&cursor.len()) && cursor.chars().all(url_safe), "{cursor}");

    let last = client.get(&page.link("next").unwrap()).send().is(200);
    assert_eq!(pets(&last), added[20..]);
    assert_eq!(last.header("link"), None);
}

#[test]
fn a_link_is_there_exactly_when_there_is_one_more() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    for n in 0..6 {
        add(&client, &pet_with_status(&format!("n{n}"), STATUSES[n % 2]));
    }
    for (query, more) in [
        ("limit=5", true),
        ("limit=6", false),
        ("limit=7", false),
        ("limit=100", false),
        ("status=available&limit=2", true),
        ("status=available&limit=3", false),
        ("limit=3&status=pending", false),
        ("limit=1&status=sold", false),
    ] {
        let page = client.get(&format!("/v1/pets?{query}")).send().is(200);
        assert_eq!(page.link("next").is_some(), more, "{query}: {page:?}");
    }
}

#[test]
fn limit_and_status_stay_in_the_link() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    for n in 0..5 {
        add(&client, &pet_with_status(&format!("n{n}"), "sold"));
    }
    // The order in the link is the same for every order in the request.
    for target in ["/v1/pets?limit=2&status=sold", "/v1/pets?status=sold&limit=2"] {
        let first = client.get(target).send().is(200).link("next").unwrap();
        assert!(first.starts_with("/v1/pets?limit=2&status=sold&cursor="), "{first}");
        let second = client.get(&first).send().is(200).link("next").unwrap();
        assert!(second.starts_with("/v1/pets?limit=2&status=sold&cursor="), "{second}");
        assert_ne!(first, second);
        assert_eq!(client.get(&second).send().is(200).link("next"), None);
    }
}

fn a_filter_lets_only_its_status_through(kind: Kind) {
    let server = shared::server_on(kind);
    let client = server.client();
    let mut added: Vec<Value> =
        STATUSES.map(|status| add(&client, &pet_with_status("filtered", status))).into();
    added.push(add(&client, &pet("filtered")));
    for status in STATUSES {
        let found = walk(&client, &format!("/v1/pets?limit=100&status={status}")).concat();
        assert!(found.iter().all(|pet| pet["status"] == status));
        for pet in &added {
            assert_eq!(found.contains(pet), pet["status"] == status, "{status}: {pet}");
        }
    }
    let everything = walk(&client, "/v1/pets?limit=100").concat();
    assert!(added.iter().all(|pet| everything.contains(pet)));
}

fn an_animal_is_listed_as_it_was_added(kind: Kind) {
    let server = shared::server_on(kind);
    let client = server.client();
    let added = add(&client, &json!({"name": "Zoë \"🐕\"", "categoryId": -7, "status": "sold"}));
    let without = add(&client, &pet("no status"));
    let listed = walk(&client, "/v1/pets?limit=100").concat();
    let found = |id| listed.iter().find(|pet| id_of(pet) == id).unwrap();
    assert_eq!(found(id_of(&added)), &added);
    assert_eq!(found(id_of(&without)), &without);
    assert_eq!(without.get("status"), None);
}
