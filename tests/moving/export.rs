//! An export has the content of one moment.

use serde_json::Value;

use super::{
    animals::many,
    commands::{exported, import, made},
};
use crate::support::{
    catalogue::{self, pet},
    server::Launch,
    store::{Kind, on_stores},
    wait,
};

fn an_export_from_a_running_service_is_a_prefix_of_what_was_added(kind: Kind) {
    let store = made(kind);
    import(&store.url, "ndjson", &many(12_000)).succeeds();
    let server = Launch::on(&store).start();
    let client = server.client();
    let adds = || drop(catalogue::add(&client, &pet("Busy")));
    let counts = wait::beside(4, adds, || {
        [(); 5].map(|()| {
            let text = exported(&store.url, "ndjson");
            let ids = text.lines().map(|line| {
                let pet: Value = serde_json::from_str(line).unwrap();
                pet["id"].as_u64().unwrap()
            });
            let ids: Vec<_> = ids.collect();
            assert!(ids.iter().copied().eq(1..=ids.len() as u64), "a gap");
            ids.len()
        })
    });
    assert!(counts.is_sorted() && counts[0] >= 12_000, "{counts:?}");
    assert!(counts[0] < counts[4], "nobody wrote: {counts:?}");
}

on_stores!(lasting: an_export_from_a_running_service_is_a_prefix_of_what_was_added,);
