//! Endless floods of cheap HTTP/2 frames. The service closes each such connection, answers other clients meanwhile, and
//! does not grow.

use std::{
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

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
const PAUSE: Duration = Duration::from_millis(4);
/// The limit on the growth of the process, in KiB.
const MAX_GROWTH: u64 = 32 * 1024;

fn server() -> Server {
    // The tests' client closes an idle connection before the idle timeout.
    let launch = Launch::on(&Store::memory()).flag("--header-timeout", "4s");
    launch
        .flag("--idle-timeout", "4s")
        .flag("--body-timeout", "2s")
        .flag("--write-timeout", "2s")
        .start()
}

/// A flood: the first frames of a connection, and a function that makes the frames after them, by number, without end.
struct Flood {
    name: &'static str,
    start: Vec<u8>,
    next: fn(u32) -> Vec<u8>,
}

fn floods() -> [Flood; 7] {
    let unfinished = frame(HEADERS, 0, 1, &request("GET", "/livez"));
    let body = frame(HEADERS, END_HEADERS, 1, &request("POST", "/v1/pets"));
    let flood = |name, start, next| Flood { name, start, next };
    [
        flood("requests that are reset at once", Vec::new(), |number| {
            let (stream, get) = (stream(number), request("GET", "/v1/pets"));
            let reset = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
            [frame(HEADERS, END_HEADERS | END_STREAM, stream, &get), reset].concat()
        }),
        flood("a head with endless continuations", unfinished.clone(), |_| {
            let field = [&[0, 1][..], b"x", &[100], &[b'y'; 100]].concat();
            frame(CONTINUATION, 0, 1, &field)
        }),
        flood("a head with endless empty continuations", unfinished, |_| {
            frame(CONTINUATION, 0, 1, &[])
        }),
        flood("pings", Vec::new(), |_| frame(PING, 0, 0, &[7; 8])),
        // SETTINGS_INITIAL_WINDOW_SIZE with two alternating values.
        flood("settings", Vec::new(), |number| {
            let value = (60_000 + number % 2).to_be_bytes();
            frame(SETTINGS, 0, 0, &[&[0, 4][..], &value].concat())
        }),
        flood("window updates", Vec::new(), |_| frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes())),
        flood("a body of empty frames", body, |_| frame(DATA, 0, 1, &[])),
    ]
}

/// Returns the identifier of the stream `number` of a client.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// Sends a flood until the service closes the connection, which must happen within [`wait::ANSWER`].
fn send(server: &Server, Flood { name, start, next }: &Flood, reads: bool) {
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
        assert!(began.elapsed() < wait::ANSWER, "{name}: the connection is still open");
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        open = frames.send(&numbers.flat_map(next).collect::<Vec<_>>());
        thread::sleep(PAUSE);
    }
}

/// Each flood has two clients: one reads the answers, and one does not.
#[petstore_testing::needs(time)]
#[test]
fn floods_of_frames_end_their_connections_and_others_are_answered() {
    let (server, floods) = (server(), floods());
    // The first request allocates memory that stays.
    add(&server.client(), &pet("before"));
    let before = reset_peak_memory(&server);
    thread::scope(|scope| {
        let clients = floods.iter().flat_map(|flood| [(flood, true), (flood, false)]);
        let send = |(flood, reads)| {
            scope.spawn({
                let server = &server;
                move || send(server, flood, reads)
            })
        };
        let clients: Vec<_> = clients.map(send).collect();
        let mut answered = 0;
        while answered < 3 || !clients.iter().all(ScopedJoinHandle::is_finished) {
            server.client().get("/v1/pets").send().is(200);
            server.http2().get("/livez").send().is(200);
            answered += 1;
        }
    });
    has_not_grown(&server, before);
}

/// Asserts that the server's memory has grown by less than [`MAX_GROWTH`] since `before`, and that the server works.
#[track_caller]
fn has_not_grown(server: &Server, before: u64) {
    let grown = peak_memory(server).saturating_sub(before);
    assert!(grown < MAX_GROWTH, "the process grew by {grown} KiB");
    add(&server.client(), &pet("after"));
}

#[petstore_testing::needs(time)]
#[test]
fn connections_with_a_thousand_endless_streams_are_closed() {
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
    has_not_grown(&server, before);
}
