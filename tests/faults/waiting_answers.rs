//! Clients that request much and read nothing. Memory for their unsent answers is bounded, and other clients are
//! answered.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;
use serde_json::Value;

use crate::support::{
    KEY,
    catalogue::{add, pet, pets},
    frames::{END_HEADERS, END_STREAM, Frames, HEADERS, SETTINGS, WINDOW_UPDATE, frame, request},
    memory::{memory, peak_memory, reset_peak_memory},
    server::Launch,
    store::Store,
    wait,
};

/// The number of connections in the attack, and of requests on each: 50 MiB of pages.
const CONNECTIONS: usize = 8;
const STREAMS: u32 = 60;
/// The limit on the growth of the process, in KiB. Of these, 4 MiB are for unsent answers.
const MAX_GROWTH: u64 = 32 * 1024;
/// The time for which the attack continues after its last request.
const TIME: Duration = Duration::from_secs(1);
/// The number of unread responses on the shared connection.
const UNREAD: usize = 20;

/// Returns a client whose responses share one connection, each with a flow-control window of its own, as behind an
/// HTTP/2 proxy. `HAProxy` 2.6 itself is unsuitable: it stops reading the connection when one client reads nothing.
fn shared_connection() -> reqwest::blocking::Client {
    let client = reqwest::blocking::Client::builder().http2_prior_knowledge();
    let client = client.http2_initial_stream_window_size(2048);
    client.http2_initial_connection_window_size(1 << 24).timeout(wait::LIMIT).build().unwrap()
}

#[test]
fn unread_pages_use_bounded_memory_and_other_clients_are_answered() {
    // Without the cache, each page is its own copy.
    let launch = Launch::on(&Store::memory()).flag("--page-cache", "0");
    let server = launch.flag("--max-buffered-answers", "4MiB").start();
    for _ in 0..100 {
        add(&server.client(), &pet(&"🐕".repeat(255)));
    }
    let before = reset_peak_memory(&server);
    let asked = AtomicBool::new(false);
    let attack = || {
        let _asked = EndOnDrop::new(&asked);
        let no_window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
        let page = request("GET", "/v1/pets?limit=100");
        let mut attackers = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut frames = Frames::to(&server);
            frames.discard_answers();
            frames.send(&no_window);
            let gets =
                (0..STREAMS).map(|n| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &page));
            frames.send(&gets.collect::<Vec<_>>().concat());
            attackers.push(frames);
        }
        let window = 2048_u32.to_be_bytes();
        let more = [0, 1].map(|stream| frame(WINDOW_UPDATE, 0, stream, &window)).concat();
        let began = Instant::now();
        while began.elapsed() < TIME {
            for attacker in &mut attackers {
                attacker.send(&more);
            }
            thread::sleep(Duration::from_millis(500));
        }
    };
    let shared = shared_connection();
    let page = || {
        let url = format!("{}/v1/pets?limit=100", server.url());
        shared.get(url).bearer_auth(KEY).send().unwrap()
    };
    thread::scope(|scope| {
        scope.spawn(attack);
        let (mut answered, mut unread) = (0, Vec::new());
        while !asked.load(Ordering::SeqCst) || answered < 3 {
            if unread.len() < UNREAD {
                unread.push(page());
            }
            let body = page().bytes().unwrap();
            assert_eq!(serde_json::from_slice::<Vec<Value>>(&body).unwrap().len(), 100);
            let client = if answered % 2 == 0 { server.client() } else { server.http2() };
            assert_eq!(pets(&client.get("/v1/pets?limit=100").send()).len(), 100);
            answered += 1;
        }
    });
    let growth = peak_memory(&server).saturating_sub(before);
    assert!(growth < MAX_GROWTH, "the process grew by {growth} KiB");
    wait::until("the memory is small again", || memory(&server) < before + MAX_GROWTH);
}
