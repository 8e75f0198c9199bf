//! HTTP/2 with prior knowledge, on the same port.

use std::{collections::HashSet, thread};

use crate::support::{
    catalogue::{add, everything, id_of, pet},
    server::Server,
    store::Kind,
};

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
