//! Clients that are slow, or stop.

use std::{
    fs,
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::support::{
    catalogue::{add, everything, pet},
    raw::{Raw, head, post},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The limits of the servers here; the default is ten seconds and more.
const ALLOWED: Duration = Duration::from_millis(400);
/// Beyond this, it was not that limit that ended the connection.
const NOISE: Duration = Duration::from_secs(8);

fn impatient() -> (Store, Server) {
    let store = Store::at("memory:");
    let launch = Launch::on(&store).flag("--header-timeout", "400ms");
    let launch = launch.flag("--body-timeout", "400ms").flag("--idle-timeout", "400ms");
    let server = launch.start();
    (store, server)
}

/// Holds that what `wait` waits for comes because of the limit, neither before nor much later.
/// The limit must begin within `wait`.
#[track_caller]
fn after_the_limit<T>(wait: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let outcome = wait();
    let took = start.elapsed();
    assert!(ALLOWED <= took && took < ALLOWED + NOISE, "{took:?}");
    outcome
}

#[test]
fn a_head_that_stops_is_told_so() {
    let (_store, server) = impatient();
    for start in ["G", "GET /v1/pets HTTP/1.1\r\n", "GET /livez HTTP/1.1\r\nhost: a\r\n"] {
        let (mut raw, answer) = after_the_limit(|| {
            let mut raw = server.raw();
            raw.send(start);
            let answer = raw.answer("", "");
            (raw, answer)
        });
        assert_eq!(answer.header("connection"), Some("close"));
        answer.refuses(408, "request_timeout");
        raw.is_closed();
    }
}

#[test]
fn a_head_that_trickles_is_cut_off_all_the_same() {
    let (_store, server) = impatient();
    let mut raw = server.raw();
    raw.send("GET /livez HTTP/1.1\r\nhost: a\r\nx: ");
    let start = Instant::now();
    while !raw.hears_within(Duration::from_millis(50)) {
        assert!(start.elapsed() < ALLOWED + NOISE, "still open");
        raw.try_send("y", NOISE);
    }
    // Bytes may still have been on their way, so the answer itself may be lost.
}

#[test]
fn an_idle_connection_is_closed_silently() {
    let (_store, server) = impatient();
    after_the_limit(|| server.raw().is_closed());
    after_the_limit(|| {
        let mut raw = server.raw();
        raw.send(head("GET", "/livez", ""));
        raw.answer("GET", "/livez").is(200);
        raw.is_closed();
    });
}

#[test]
fn a_connection_may_idle_for_longer_than_a_head_may_take() {
    let store = Store::at("memory:");
    let server = Launch::on(&store).flag("--header-timeout", "200ms").start();
    let mut raw = server.raw();
    for _ in 0..2 {
        raw.send(head("GET", "/livez", ""));
        raw.answer("GET", "/livez").is(200);
        assert!(!raw.hears_within(Duration::from_millis(600)));
    }
}

#[test]
fn a_second_head_that_stops_is_told_so() {
    let (_store, server) = impatient();
    after_the_limit(|| {
        let mut raw = server.raw();
        raw.send(head("GET", "/livez", "") + "GET /li");
        raw.answer("GET", "/livez").is(200);
        raw.answer("", "").refuses(408, "request_timeout");
        raw.is_closed();
    });
}

#[test]
fn a_body_that_stops_is_told_so_and_adds_nothing() {
    let (_store, server) = impatient();
    let json = "content-type: application/json\r\n";
    let half = &pet("halved").to_string()[..10];
    for (framing, start) in [
        ("content-length: 100\r\n", half.to_owned()),
        ("content-length: 100\r\n", String::new()),
        ("transfer-encoding: chunked\r\n", format!("a\r\n{half}\r\n")),
    ] {
        after_the_limit(|| {
            let mut raw = server.raw();
            raw.send(head("POST", "/v1/pets", &format!("{json}{framing}")) + start.as_str());
            raw.answer("POST", "/v1/pets").refuses(408, "request_timeout");
            raw.is_closed();
        });
    }
    assert!(everything(&server.client()).is_empty());
}

#[test]
fn a_client_that_leaves_half_way_adds_nothing() {
    let (_store, server) = impatient();
    for cut in [10, 100, 150] {
        let request = post(&pet("gone").to_string());
        server.raw().send(&request[..cut.min(request.len() - 1)]);
    }
    let mut raw = server.raw();
    raw.send(head("GET", "/v1/pets", ""));
    assert_eq!(raw.answer("GET", "/v1/pets").is(200).text(), "[]");
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let store = Store::at("memory:");
    let server = Launch::on(&store).flag("--write-timeout", "500ms").start();
    for _ in 0..100 {
        add(&server.client(), &pet(&"🐕".repeat(255)));
    }
    let many = head("GET", "/v1/pets?limit=100", "").repeat(500);
    let mut raw = server.raw();
    // 500 times 100 KB fit into no buffer: the server stops reading, then closes.
    let mut open = raw.try_send(&many, NOISE);
    let start = Instant::now();
    while open && start.elapsed() < NOISE {
        std::thread::sleep(Duration::from_millis(100));
        open = raw.try_send(&many[..100], NOISE);
    }
    assert!(!open, "still open");
    server.client().get("/livez").send().is(200);
}

#[test]
fn a_connection_over_the_limit_waits_for_its_turn() {
    let store = Store::at("memory:");
    let server = Launch::on(&store).flag("--max-connections", "2").start();
    let ask = |raw: &mut Raw| raw.send(head("GET", "/livez", ""));
    let mut connections = [server.raw(), server.raw()];
    for raw in &mut connections {
        ask(raw);
        raw.answer("GET", "/livez").is(200);
    }
    let mut waiting = server.raw();
    ask(&mut waiting);
    assert!(!waiting.hears_within(Duration::from_millis(300)));
    drop(connections);
    waiting.answer("GET", "/livez").is(200);
}

/// Makes so many connections to a server that accepts one of them: how many are in its queue in time.
fn queued(server: &Server, connections: usize, limit: Duration) -> usize {
    let connect = |_| TcpStream::connect_timeout(&server.address, limit).ok();
    let made: Vec<_> = (0..connections).map_while(connect).collect();
    made.len()
}

#[test]
fn as_many_connections_wait_as_the_system_allows_or_as_the_operator_says() {
    let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let many = allowed.trim().parse::<usize>().unwrap().min(500);
    let store = Store::memory();
    let full = Launch::on(&store).flag("--max-connections", "1").flag("--header-timeout", "1h");
    // One that finds the queue full is not let in, however long it tries.
    assert_eq!(queued(&full.start(), many, wait::LIMIT), many);

    let short = Launch::on(&store).flag("--max-connections", "1").flag("--header-timeout", "1h");
    let server = short.flag("--listen-backlog", "3").start();
    let in_queue = queued(&server, many, Duration::from_secs(2));
    assert!(in_queue < 10, "{in_queue}");
}
