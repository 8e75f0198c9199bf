//! Walks along the links of pages, and the cursors in these links.

use serde_json::Value;

use crate::support::{
    catalogue::{STATUSES, add, pet, pet_with_status, pets},
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    every:
    a_walk_yields_every_earlier_animal_once_while_others_are_added,
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
        assert!(found.len() == limit || next.is_none(), "the page is not full: {page:?}");
        seen.extend(found);
    }
    assert!(seen.len() >= expected.len(), "limit {limit}, {status:?}: {} seen", seen.len());
    // Animals added meanwhile have greater identifiers, so they come last.
    assert_eq!(seen[..expected.len()], expected, "limit {limit}, {status:?}");
}
