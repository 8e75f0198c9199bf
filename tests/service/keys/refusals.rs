//! Requests without a good key are refused late, so that a new key works at its first use.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    KEY,
    client::{Call, Client},
    raw::head,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

/// How long a refusal waits at least.
const DELAY: Duration = Duration::from_millis(100);

on_stores! {
    lasting:
    a_new_key_works_at_its_first_use,
}

/// Sends all at the same time. The status of each, and how long it took.
fn send_at_once(calls: Vec<Call>) -> Vec<(u16, Duration)> {
    thread::scope(|scope| {
        let send = |call: Call| {
            scope.spawn(|| {
                let began = Instant::now();
                (call.send().status, began.elapsed())
            })
        };
        let threads: Vec<_> = calls.into_iter().map(send).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn every_refusal_is_late_whatever_the_method_and_the_credential() {
    let (_store, server) = Server::in_memory();
    let unknown = Store::sqlite().new_key("elsewhere");
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    let calls = |client: &Client| -> Vec<Call> {
        let each = |method: &str| {
            let call = client.call(method, "/v1/pets");
            let unknown = call.clone().key(&unknown);
            [call.clone().anonymous(), call.key("of-another-form-0123"), unknown]
        };
        methods.into_iter().flat_map(each).collect()
    };
    for client in [server.client(), server.http2()] {
        for (status, took) in send_at_once(calls(&client)) {
            assert_eq!(status, 401);
            assert!(took >= DELAY, "{took:?}");
        }
        // A good key does not wait.
        let began = Instant::now();
        wait::until("a good key is answered at once", || {
            let began = Instant::now();
            client.get("/v1/pets").send().is(200);
            began.elapsed() < DELAY / 2
        });
        assert!(began.elapsed() < wait::LIMIT);
    }
}

fn a_new_key_works_at_its_first_use(kind: Kind) {
    let store = Store::new(kind);
    let server = Launch::on(&store).start();
    let clients = [server.client(), server.http2()];
    for number in 0..8 {
        // While others keep the keys fresh, and at another moment between two reads.
        clients[0].get("/v1/pets").send().is(200);
        thread::sleep(Duration::from_millis(67) * number);
        clients[0].get("/v1/pets").send().is(200);
        let key = store.new_key(&format!("key-{number}"));
        let client = &clients[number as usize % clients.len()];
        assert_eq!(client.get("/v1/pets").key(&key).send().status, 200, "key {number}");
    }
}

#[test]
fn one_more_refusal_than_may_wait_is_told_so_and_keeps_its_connection() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--max-connections", "64").start();
    let unknown = Store::sqlite().new_key("elsewhere");
    let request = head("GET", "/v1/pets", "").replace(KEY, &unknown);
    assert!(request.contains(&unknown));
    // The places are for a quarter of the connections.
    let mut connections: Vec<_> = (0..32).map(|_| server.raw()).collect();
    for connection in &mut connections {
        connection.send(&request);
    }
    let mut statuses = Vec::new();
    for mut connection in connections {
        let answer = connection.any_answer(false);
        statuses.push(answer.status);
        if answer.status == 429 {
            answer.refuses(429, "rate_limited");
        } else {
            assert_eq!(answer.status, 401);
        }
        connection.send(head("GET", "/livez", ""));
        assert_eq!(connection.any_answer(false).status, 200);
    }
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert!(count(429) > 0 && count(401) >= 16, "{statuses:?}");
    assert_eq!(server.client().get("/v1/pets").send().status, 200);
}

#[test]
fn a_refusal_that_waits_is_given_when_the_service_stops() {
    let (_store, mut server) = Server::on_file();
    let unknown = Store::sqlite().new_key("elsewhere");
    let request = head("GET", "/v1/pets", "").replace(KEY, &unknown);
    server.client().get("/v1/pets").send().is(200);
    let mut connections: Vec<_> = (0..20).map(|_| server.raw()).collect();
    for connection in &mut connections {
        connection.send(&request);
    }
    server.signal("TERM");
    for mut connection in connections {
        assert_eq!(connection.any_answer(false).status, 401);
    }
    assert_eq!(server.exit(), Some(0), "{}", server.log());
}

#[test]
fn a_request_that_may_not_wait_so_long_is_refused_and_not_unavailable() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--request-timeout", "120ms").start();
    let unknown = Store::sqlite().new_key("elsewhere");
    server.client().get("/v1/pets").send().is(200);
    let calls = (0..20).map(|_| server.client().get("/v1/pets").key(&unknown)).collect();
    for (status, _) in send_at_once(calls) {
        assert_eq!(status, 401);
    }
}
