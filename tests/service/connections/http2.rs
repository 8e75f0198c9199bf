//! HTTP/2 with prior knowledge, on the same port.

use std::{collections::HashSet, thread};

use crate::support::{
    catalogue::{add, everything, id_of, pet, walk},
    server::Server,
    shared,
    store::Kind,
};

#[test]
fn every_operation_works_over_http_2() {
    let server = shared::server();
    let client = server.http2();
    let answer = client.add(&pet("h2")).send().is(201);
    let id = id_of(&answer.json());
    assert_eq!(answer.must("location"), format!("/v1/pets/{id}"));
    let found = client.get(&format!("/v1/pets/{id}")).send().is(200);
    assert_eq!(found.json(), answer.json());
    assert!(walk(&client, "/v1/pets?limit=100").concat().contains(&answer.json()));
    client.head("/v1/pets").send().is(200);
    client.options("/v1/pets").send().is(204);
    client.get("/readyz").anonymous().send().is(200);
}

#[test]
fn a_head_that_is_too_large_is_refused_and_the_connection_continues() {
    let client = shared::server().http2();
    // A field of 20,000 bytes, and a field of 3,000 bytes that is sent once and referenced five times.
    for fields in [vec!["x".repeat(20_000)], vec!["x".repeat(3000); 6]] {
        let call = client.get("/livez");
        let call = fields.iter().fold(call, |call, field| call.header("x", field));
        assert_eq!(call.status_of_library(), 431);
        assert_eq!(client.get("/livez").anonymous().send().status, 200);
    }
}

#[test]
fn a_hundred_streams_at_once_are_served() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.http2();
    add(&client, &pet("first"));
    let one = |n: usize| id_of(&add(&client, &pet(&format!("n{n}"))));
    let ids: HashSet<i64> = thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..100).map(|n| scope.spawn(move || one(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 100);
    assert_eq!(everything(&client).len(), 101);
}
