//! Clients that are slow or stop. Each timeout flag sets its own limit.
//!
//! `connection/tests.rs` and `server/tests.rs` in `crates/http/src` measure the limits on every listener, with a
//! paused clock.

use std::{fs, net::TcpStream, time::Duration};

use crate::support::{
    catalogue::{everything, pet},
    raw::head,
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Starts a server with this timeout at 400 ms. All other timeouts are too long for a test.
fn impatient(short: &str) -> (Store, Server) {
    let store = Store::memory();
    let flags = ["--header-timeout", "--body-timeout", "--idle-timeout"];
    let launch = flags.iter().fold(Launch::on(&store), |launch, flag| {
        launch.flag(flag, if *flag == short { "400ms" } else { "1h" })
    });
    let server = launch.start();
    (store, server)
}

#[test]
fn a_head_that_stops_gets_408() {
    let (_store, server) = impatient("--header-timeout");
    for start in ["G", "GET /v1/pets HTTP/1.1\r\n"] {
        let mut raw = server.raw();
        raw.send(start);
        let answer = raw.answer("", "").refuses(408, "request_timeout");
        assert_eq!(answer.header("connection"), Some("close"));
        raw.is_closed();
    }
    server.raw().is_closed();
}

#[test]
fn a_body_that_stops_gets_408_and_adds_nothing() {
    let (_store, server) = impatient("--body-timeout");
    let half = &pet("halved").to_string()[..10];
    for (framing, start) in [
        ("content-length: 100\r\n", half.to_owned()),
        ("transfer-encoding: chunked\r\n", format!("a\r\n{half}\r\n")),
    ] {
        let mut raw = server.raw();
        let json = format!("content-type: application/json\r\n{framing}");
        raw.send(head("POST", "/v1/pets", &json) + start.as_str());
        raw.answer("POST", "/v1/pets").refuses(408, "request_timeout");
        raw.is_closed();
    }
    assert!(everything(&server.client()).is_empty());
}

/// Opens connections to a server that accepts one connection. Returns how many of them are in its queue within
/// `limit`.
fn queued(server: &Server, connections: usize, limit: Duration) -> usize {
    let connect = |_| TcpStream::connect_timeout(&server.address, limit).ok();
    let made: Vec<_> = (0..connections).map_while(connect).collect();
    made.len()
}

#[test]
fn the_backlog_is_that_of_the_system_or_of_the_operator() {
    let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let many = allowed.trim().parse::<usize>().unwrap().min(500);
    let store = Store::memory();
    let full = Launch::on(&store).flag("--max-connections", "1").flag("--header-timeout", "1h");
    // A connection that finds the queue full is never accepted.
    assert_eq!(queued(&full.start(), many, wait::LIMIT), many);

    let short = Launch::on(&store).flag("--max-connections", "1").flag("--header-timeout", "1h");
    let server = short.flag("--listen-backlog", "3").start();
    let in_queue = queued(&server, many, Duration::from_secs(2));
    assert!(in_queue < 10, "{in_queue}");
}
