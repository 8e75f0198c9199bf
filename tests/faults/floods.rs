//! Endless floods of cheap HTTP/2 frames. The service closes each such connection, answers other clients meanwhile, and
//! does not grow.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

use crate::support::{
    catalogue::{add, pet},
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, RST_STREAM, SETTINGS,
        WINDOW_UPDATE, frame, request,
    },
    memory::{peak_memory, reset_peak_memory},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The number of frames that are sent at once.
const BATCH: u32 = 200;
/// The pause between two batches, so that other clients get a processor.
const PAUSE: Duration = Duration::from_millis(1);
/// The limit on the growth of the process in a flood, in KiB.
const MAX_GROWTH: u64 = 32 * 1024;

fn server() -> Server {
    // Longer than the tests' client keeps an idle connection.
    let launch = Launch::on(&Store::memory()).flag("--header-timeout", "4s");
    launch
        .flag("--idle-timeout", "4s")
        .flag("--body-timeout", "2s")
        .flag("--write-timeout", "2s")
        .start()
}

/// Asserts the promises of this file for a connection that sends `start`, then `next(0)`, `next(1)` and so on. Tests
/// one client that reads the answers, and one client that does not.
fn is_survived(start: &[u8], next: impl Fn(u32) -> Vec<u8> + Sync) {
    for reads in [true, false] {
        let server = server();
        // The first request allocates memory that stays.
        add(&server.client(), &pet("before"));
        let before = reset_peak_memory(&server);
        let closed = AtomicBool::new(false);
        thread::scope(|scope| {
            let flood = scope.spawn(|| {
                let _closed = EndOnDrop::new(&closed);
                flood(&server, start, &next, reads);
            });
            let mut answered = 0;
            while !closed.load(Ordering::SeqCst) || answered < 3 {
                server.client().get("/v1/pets").send().is(200);
                server.http2().get("/livez").send().is(200);
                answered += 1;
            }
            flood.join().unwrap();
        });
        let grown = peak_memory(&server).saturating_sub(before);
        assert!(grown < MAX_GROWTH, "the process grew by {grown} KiB");
        add(&server.client(), &pet("after"));
    }
}

/// Sends until the service closes the connection, at most for [`wait::ANSWER`].
fn flood(server: &Server, start: &[u8], next: &impl Fn(u32) -> Vec<u8>, reads: bool) {
    let mut frames = Frames::to(server);
    if reads {
        frames.discard_answers();
    }
    let began = Instant::now();
    let mut open = frames.send(start);
    for batch in 0.. {
        if !open {
            return;
        }
        assert!(began.elapsed() < wait::ANSWER, "the connection is still open");
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        open = frames.send(&numbers.flat_map(next).collect::<Vec<_>>());
        thread::sleep(PAUSE);
    }
}

/// Returns the identifier of a client's stream.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

#[petstore_testing::needs(time)]
#[test]
fn requests_that_are_reset_at_once() {
    let get = request("GET", "/v1/pets");
    is_survived(&[], |number| {
        let stream = stream(number);
        let reset = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        [frame(HEADERS, END_HEADERS | END_STREAM, stream, &get), reset].concat()
    });
}

#[petstore_testing::needs(time)]
#[test]
fn a_head_that_is_continued_without_end() {
    let field = [&[0, 1][..], b"x", &[100], &[b'y'; 100]].concat();
    let start = frame(HEADERS, 0, 1, &request("GET", "/livez"));
    is_survived(&start, |_| frame(CONTINUATION, 0, 1, &field));
}

#[petstore_testing::needs(time)]
#[test]
fn a_head_that_is_continued_by_nothing() {
    let start = frame(HEADERS, 0, 1, &request("GET", "/livez"));
    is_survived(&start, |_| frame(CONTINUATION, 0, 1, &[]));
}

#[petstore_testing::needs(time)]
#[test]
fn pings() {
    is_survived(&[], |_| frame(PING, 0, 0, &[7; 8]));
}

#[petstore_testing::needs(time)]
#[test]
fn settings() {
    // SETTINGS_INITIAL_WINDOW_SIZE with two alternating values.
    is_survived(&[], |number| {
        let value = (60_000 + number % 2).to_be_bytes();
        frame(SETTINGS, 0, 0, &[&[0, 4][..], &value].concat())
    });
}

#[petstore_testing::needs(time)]
#[test]
fn updates_of_the_window() {
    is_survived(&[], |_| frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()));
}

#[petstore_testing::needs(time)]
#[test]
fn a_body_of_empty_pieces() {
    let start = frame(HEADERS, END_HEADERS, 1, &request("POST", "/v1/pets"));
    is_survived(&start, |_| frame(DATA, 0, 1, &[]));
}

#[petstore_testing::needs(time)]
#[test]
fn a_thousand_streams_that_never_end() {
    let server = server();
    add(&server.client(), &pet("before"));
    let before = reset_peak_memory(&server);
    let post = request("POST", "/v1/pets");
    let streams: Vec<u8> =
        (0..1000).flat_map(|number| frame(HEADERS, END_HEADERS, stream(number), &post)).collect();
    let mut attackers: Vec<Frames> = (0..10).map(|_| Frames::to(&server)).collect();
    for frames in &mut attackers {
        frames.send(&streams);
    }
    for _ in 0..10 {
        server.client().get("/v1/pets").send().is(200);
        server.http2().get("/livez").send().is(200);
    }
    for frames in &mut attackers {
        assert!(frames.is_closed_within(wait::LIMIT), "the connection is still open");
    }
    let grown = peak_memory(&server).saturating_sub(before);
    assert!(grown < MAX_GROWTH, "the process grew by {grown} KiB");
    add(&server.client(), &pet("after"));
}
