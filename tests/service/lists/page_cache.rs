//! A cached page is never older than an addition that was acknowledged before the request.

use std::{
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    thread,
};

use crate::support::{
    catalogue::{add, id_of, pet, pets},
    client::Client,
    server::Server,
    store::{Kind, on_stores},
    wait,
};

on_stores! {
    every:
    no_page_is_older_than_an_addition_acknowledged_before_the_request,
}

const WRITERS: usize = 2;
const READERS: usize = 3;
/// The number of additions by each writer. All animals fit on one page.
const ADDITIONS: usize = 45;

fn no_page_is_older_than_an_addition_acknowledged_before_the_request(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let (newest, reads) = (AtomicI64::new(0), AtomicUsize::new(0));
    let read = || {
        let acknowledged = newest.load(Ordering::SeqCst);
        let last = last_on_page(&server.client());
        assert!(last >= acknowledged, "{last} is the last on a page after {acknowledged}");
        reads.fetch_add(1, Ordering::SeqCst);
    };
    wait::beside(READERS, read, || {
        thread::scope(|scope| {
            (0..WRITERS).for_each(|_| drop(scope.spawn(|| write(&server.client(), &newest))));
        });
    });
    assert!(reads.into_inner() > READERS * ADDITIONS, "too few reads to be a race");
}

fn write(client: &Client, newest: &AtomicI64) {
    for n in 0..ADDITIONS {
        let id = id_of(&add(client, &pet(&format!("n{n}"))));
        newest.fetch_max(id, Ordering::SeqCst);
        // A client finds its acknowledged animal on the next page that it reads.
        assert!(last_on_page(client) >= id, "animal {id} is not on the page after it");
    }
}

/// Returns the newest animal on the page that all clients read; 0 if the page is empty.
fn last_on_page(client: &Client) -> i64 {
    let page = pets(&client.get("/v1/pets?limit=100").send().is(200));
    page.last().map_or(0, id_of)
}
