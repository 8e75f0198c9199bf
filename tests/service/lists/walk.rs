//! Walks along the links of pages, and the cursors in these links.

use serde_json::Value;

use crate::support::{
    catalogue::{STATUSES, add, pet, pet_with_status, pets, walk},
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    every:
    a_walk_yields_every_earlier_animal_once_while_others_are_added,
    a_whole_walk_ends,
}

/// Adds animals of every status, and some without a status.
fn fill(server: &Server, count: usize) -> Vec<Value> {
    let client = server.client();
    let new = |n: usize| match STATUSES.get(n % 4) {
        Some(status) => pet_with_status(&format!("n{n}"), status),
        None => pet(&format!("n{n}")),
    };
    (0..count).map(|n| add(&client, &new(n))).collect()
}

fn cursor_of(target: &str) -> String {
    target.split_once("cursor=").unwrap().1.to_owned()
}

fn a_walk_yields_every_earlier_animal_once_while_others_are_added(kind: Kind) {
    let store = Store::new(kind);
    let server = Launch::on(&store).start();
    let began = fill(&server, 130);
    let adds = || drop(fill(&server, 4));
    wait::beside(2, adds, || {
        for limit in [1, 7, 100] {
            for status in [None, Some("available"), Some("pending"), Some("sold")] {
                walk_is_whole(&server, limit, status, &began);
            }
        }
    });
}

/// Follows the links past every animal that existed at the beginning.
fn walk_is_whole(server: &Server, limit: usize, status: Option<&str>, began: &[Value]) {
    let client = server.client();
    let filter = status.map_or(String::new(), |status| format!("&status={status}"));
    let wanted = |pet: &&Value| status.is_none_or(|status| pet["status"] == status);
    let expected: Vec<_> = began.iter().filter(wanted).cloned().collect();
    let mut seen: Vec<Value> = Vec::new();
    let mut next = Some(format!("/v1/pets?limit={limit}{filter}"));
    // The walk may have no end while animals are added.
    while let Some(target) = next.filter(|_| seen.len() < expected.len()) {
        let page = client.get(&target).send().is(200);
        next = page.link("next");
        let found = pets(&page);
        assert!(found.iter().all(|pet| wanted(&pet)), "{target}: {page:?}");
        assert!(found.len() <= limit, "{target}: {page:?}");
        assert!(found.len() == limit || next.is_none(), "a page with a link is full: {page:?}");
        seen.extend(found);
    }
    assert!(seen.len() >= expected.len(), "{limit} {status:?}: {} seen", seen.len());
    // Animals added meanwhile have greater identifiers, so they come last.
    assert_eq!(seen[..expected.len()], expected, "{limit} {status:?}");
}

fn a_whole_walk_ends(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let all = fill(&server, 40);
    for (limit, lengths) in [(7, vec![7, 7, 7, 7, 7, 5]), (20, vec![20, 20]), (100, vec![40])] {
        let pages = walk(&server.client(), &format!("/v1/pets?limit={limit}"));
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
        assert_eq!(pages.concat(), all);
    }
    let pages = walk(&server.client(), "/v1/pets?status=sold&limit=3");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 1]);
}

#[test]
fn a_changed_cursor_is_refused() {
    let (_store, server) = Server::start(Kind::Sqlite);
    fill(&server, 5);
    let client = server.client();
    let first = client.get("/v1/pets?limit=2").send().is(200);
    let cursor = cursor_of(&first.link("next").unwrap());
    for at in 0..cursor.len() {
        let mut changed = cursor.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        client.get(&format!("/v1/pets?cursor={changed}")).send().refuses(400, "invalid_query");
        let cut = &cursor[..at];
        client.get(&format!("/v1/pets?cursor={cut}")).send().refuses(400, "invalid_query");
    }
    let longer = client.get(&format!("/v1/pets?cursor={cursor}A")).send();
    longer.refuses(400, "invalid_query");
    let filtered = client.get(&format!("/v1/pets?cursor={cursor}&status=sold")).send();
    assert!(filtered.refuses(400, "invalid_query").message().contains("cursor"));
    let twice = client.get(&format!("/v1/pets?cursor={cursor}&cursor={cursor}")).send();
    twice.refuses(400, "invalid_query");
}

#[test]
fn a_page_has_twenty_animals_by_default() {
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
fn limit_and_status_stay_in_the_link() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    for n in 0..5 {
        add(&client, &pet_with_status(&format!("n{n}"), "sold"));
    }
    // The order of parameters in the link does not depend on the request.
    for target in ["/v1/pets?limit=2&status=sold", "/v1/pets?status=sold&limit=2"] {
        let first = client.get(target).send().is(200).link("next").unwrap();
        assert!(first.starts_with("/v1/pets?limit=2&status=sold&cursor="), "{first}");
        let second = client.get(&first).send().is(200).link("next").unwrap();
        assert!(second.starts_with("/v1/pets?limit=2&status=sold&cursor="), "{second}");
        assert_ne!(first, second);
        assert_eq!(client.get(&second).send().is(200).link("next"), None);
    }
}
