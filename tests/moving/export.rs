//! An export is the store at one moment.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::{
    animals::many,
    commands::{exported, import, made},
};
use crate::support::{
    catalogue::{self, pet},
    server::Launch,
    set_on_drop::SetOnDrop,
    store::{Kind, on_lasting_stores},
};

fn an_export_from_a_running_service_is_a_prefix_of_what_was_added(kind: Kind) {
    let store = made(kind);
    import(&store.url, "ndjson", &many(12_000)).succeeds();
    let server = Launch::on(&store).start();
    let (client, over) = (server.client(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    catalogue::add(&client, &pet("Busy"));
                }
            });
        }
        let over = SetOnDrop(&over);
        let mut counts = Vec::new();
        for _ in 0..5 {
            let text = exported(&store.url, "ndjson");
            let ids = text.lines().map(|line| {
                let pet: Value = serde_json::from_str(line).unwrap();
                pet["id"].as_u64().unwrap()
            });
            let ids: Vec<_> = ids.collect();
            assert!(ids.iter().copied().eq(1..=ids.len() as u64), "a gap");
            counts.push(ids.len());
        }
        drop(over);
        assert!(counts.is_sorted() && counts[0] >= 12_000, "{counts:?}");
        assert!(counts[0] < counts[4], "nobody wrote: {counts:?}");
    });
}

on_lasting_stores!(an_export_from_a_running_service_is_a_prefix_of_what_was_added,);
