//! A stop: requests that have begun are answered, no new connection is accepted, and the process ends.

use std::{process::Command, thread, time::Duration};

use serde_json::Value;

use crate::support::{
    catalogue::{everything, pet},
    raw::{Raw, head},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Longer than a drain without `--shutdown-delay` keeps an idle connection.
const IDLE_IN_DRAIN: Duration = Duration::from_millis(1500);

/// Returns a connection on which the head of a request and the start of its body are sent, and the rest of the body.
fn half_way(server: &Server) -> (Raw, String) {
    let (mut raw, body) = (server.raw(), pet("half").to_string());
    let length = body.len();
    let asks = format!(
        "content-type: application/json\r\ncontent-length: {length}\r\nexpect: 100-continue\r\n"
    );
    raw.send(head("POST", "/v1/pets", &asks));
    // The server asks for the body, so the head has arrived.
    assert_eq!(raw.any_answer(false).status, 100);
    raw.send(&body[..10]);
    (raw, body[10..].to_owned())
}

/// Returns an idle connection that has been used.
fn idle(server: &Server) -> Raw {
    let mut raw = server.raw();
    raw.send(head("GET", "/readyz", ""));
    raw.answer("GET", "/readyz").is(200);
    raw
}

#[test]
fn a_started_request_is_answered_during_a_stop() {
    for signal in ["TERM", "INT"] {
        let store = Store::sqlite();
        let launch = Launch::on(&store).flag("--shutdown-grace", "2m");
        let mut server = launch.flag("--body-timeout", "2m").start();
        let (mut raw, rest) = half_way(&server);
        server.signal(signal);
        wait::until("new connections are refused", || !server.takes_connections());
        assert!(server.log().contains(&format!("\"signal\":\"SIG{signal}\"")));
        thread::sleep(IDLE_IN_DRAIN);
        raw.send(rest);
        let answer = raw.answer("POST", "/v1/pets").is(201);
        assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
        raw.is_closed();
        assert_eq!(server.exit(), Some(0), "{}", server.log());

        let server = Launch::on(&store).start();
        assert_eq!(everything(&server.client()), [answer.json()]);
    }
}

#[test]
fn an_idle_server_stops_at_once() {
    let store = Store::sqlite();
    // The server must end long before either limit.
    let launch = Launch::on(&store).flag("--shutdown-grace", "10m").flag("--idle-timeout", "10m");
    let mut server = launch.start();
    let mut connections = [idle(&server), idle(&server)];
    server.http2().get("/livez").send().is(200);
    server.signal("TERM");
    assert_eq!(server.exit(), Some(0), "{}", server.log());
    for raw in &mut connections {
        raw.is_closed();
    }
}

#[test]
fn during_the_shutdown_delay_the_service_is_not_ready_and_serves() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--shutdown-delay", "10m").start();
    let (client, mut kept) =
        (server.client(), ["/readyz", "/livez", "/v1/pets"].map(|target| (target, idle(&server))));
    server.signal("TERM");
    wait::until("the service is not ready", || {
        client.get("/readyz").anonymous().send().status == 503
    });
    thread::sleep(IDLE_IN_DRAIN);
    client.add(&pet("late")).send().is(201);
    for (target, kept) in &mut kept {
        kept.send(head("GET", target, ""));
        let answer = kept.answer("GET", target);
        assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
        kept.is_closed();
        if *target == "/readyz" {
            answer.refuses(503, "unavailable");
        } else {
            answer.is(200);
        }
    }
}

#[petstore_testing::needs(quiet)]
#[test]
fn two_equal_signals_at_once_count_as_one() {
    let store = Store::sqlite();
    let launch = Launch::on(&store).flag("--body-timeout", "2m").flag("--shutdown-grace", "2m");
    let mut server = launch.start();
    let (mut raw, rest) = half_way(&server);
    // The 200 ms for a second signal begin with the first one, not with the service.
    thread::sleep(Duration::from_millis(300));
    // timeout(1) sends two signals in quick succession. The kernel merges signals that come even closer together.
    let both = format!("kill -TERM {pid}; sleep 0.03; kill -TERM {pid}", pid = server.pid());
    assert!(Command::new("/bin/sh").args(["-c", &both]).status().unwrap().success());
    wait::until("new connections are refused", || !server.takes_connections());
    raw.send(rest);
    raw.answer("POST", "/v1/pets").is(201);
    assert_eq!(server.exit(), Some(0), "{}", server.log());
    assert_eq!(endings(server), ["stopped: every request was answered"]);
}

/// Returns the log lines about the end of a stopped server.
fn endings(server: Server) -> Vec<String> {
    let log = server.whole_log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages = lines.map(|line| line["fields"]["message"].as_str().unwrap().to_owned());
    messages.filter(|message| message.starts_with("stopped")).collect()
}

#[test]
fn a_second_signal_stops_at_once() {
    for second in ["TERM", "INT"] {
        let mut server = Launch::on(&Store::memory())
            .flag("--shutdown-grace", "10m")
            .flag("--body-timeout", "10m")
            .flag("--request-timeout", "10m")
            .start();
        let (mut raw, _rest) = half_way(&server);
        server.signal("TERM");
        // An equal signal counts after 200 ms. Any other signal counts at once.
        if second == "TERM" {
            wait::until("new connections are refused", || !server.takes_connections());
        }
        server.signal(second);
        assert_eq!(server.exit(), Some(1), "{}", server.log());
        raw.rest();
        assert_eq!(endings(server), ["stopped at once: connections may have been cut off"]);
    }
}
