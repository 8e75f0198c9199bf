//! Every bad credential gets the same answer: status, headers, body, and delay.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    KEY,
    answer::Answer,
    client::{Call, Client},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// A server, and an `Authorization` header for each way to be refused.
struct Matrix {
    server: Server,
    refused: Vec<(&'static str, String)>,
    _store: Store,
}

impl Matrix {
    #[track_caller]
    fn new() -> Self {
        let store = Store::sqlite();
        let foreign = Store::sqlite().new_key("foreign");
        let (live, revoked) = (store.new_key("live"), store.new_key("revoked"));
        let expired = store.keys(&["create", "expired", "--expires", "1s"]).succeeds();
        let expired = expired.trim_end();
        store.keys(&["revoke", "revoked"]).succeeds();
        let server = Launch::on(&store).start();
        let client = server.client();
        let is_refused = || client.get("/v1/pets").key(expired).send().status == 401;
        wait::until("the key expires", is_refused);
        let last = if live.ends_with('x') { 'y' } else { 'x' };
        let mistyped = format!("{}{last}", &live[..live.len() - 1]);
        let bearer = |key: &str| format!("Bearer {key}");
        let refused = vec![
            ("unknown", bearer(&foreign)),
            ("revoked", bearer(&revoked)),
            ("expired", bearer(expired)),
            ("mistyped", bearer(&mistyped)),
            ("of another form", bearer("not-the-right-key-1")),
            ("two tokens", bearer(&format!("{live} {live}"))),
            ("no token", "Bearer ".to_owned()),
            ("no scheme", live.clone()),
            ("Basic", format!("Basic {live}")),
            ("Token", format!("Token {live}")),
            ("empty", String::new()),
        ];
        Self { server, refused, _store: store }
    }
}

/// Returns the answer without its date and its identifiers.
fn alike(answer: &Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    (answer.status, answer.lasting_headers(), answer.body.clone())
}

#[test]
fn every_bad_credential_has_the_same_answer() {
    let matrix = Matrix::new();
    let requests: [fn(&Client) -> Call; 4] = [
        |client| client.get("/v1/pets"),
        |client| client.post("/v1/pets", r#"{"name":"Rex","categoryId":1}"#),
        |client| client.get("/v1/pets/1"),
        |client| client.call("DELETE", "/v1/nope"),
    ];
    let challenge = "Bearer realm=\"petstore\", error=\"invalid_token\"";
    for client in [matrix.server.client(), matrix.server.http2()] {
        for request in requests {
            let two = request(&client).header("authorization", format!("Bearer {KEY}"));
            let mut calls = vec![("two good headers", two)];
            for (name, value) in &matrix.refused {
                calls.push((*name, request(&client).authorization(value)));
            }
            let answers = at_once(calls);
            let expected = answers[1].1.clone().refuses(401, "unauthorized");
            assert_eq!(expected.must("www-authenticate"), challenge);
            assert!(expected.message().contains("Authorization: Bearer"), "{expected:?}");
            for (name, answer) in &answers {
                assert_eq!(alike(answer), alike(&expected), "{name}");
            }
        }
    }
}

/// Sends all requests at once, because each refusal is delayed.
fn at_once(calls: Vec<(&'static str, Call)>) -> Vec<(&'static str, Answer)> {
    thread::scope(|scope| {
        let send = |(name, call): (&'static str, Call)| scope.spawn(move || (name, call.send()));
        let threads: Vec<_> = calls.into_iter().map(send).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_key_in_another_place_is_no_credential() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let get = |target: &str| client.get(target).anonymous();
    let expected = get("/v1/pets").send().refuses(401, "unauthorized");
    assert_eq!(expected.must("www-authenticate"), "Bearer realm=\"petstore\"");
    for (place, call) in [
        ("query", get(&format!("/v1/pets?access_token={KEY}"))),
        ("cookie", get("/v1/pets").header("cookie", format!("access_token={KEY}"))),
        ("x-api-key", get("/v1/pets").header("x-api-key", KEY)),
        ("path", get(&format!("/v1/pets/{KEY}"))),
        (
            "Proxy-Authorization",
            get("/v1/pets").header("proxy-authorization", format!("Bearer {KEY}")),
        ),
    ] {
        let mut answer = call.send();
        // The headers of the deprecated operation depend on the path.
        let of_get_pet = ["deprecation", "sunset", "link"];
        answer.headers.retain(|(name, _)| !of_get_pet.contains(&name.as_str()));
        assert_eq!(alike(&answer), alike(&expected), "{place}");
    }
}

#[petstore_testing::needs(quiet)]
#[test]
fn all_keys_that_are_not_live_are_refused_after_the_same_delay() {
    const ROUNDS: u32 = 9;
    let matrix = Matrix::new();
    let client = matrix.server.client();
    for round in 0..ROUNDS {
        // Each round begins at another moment between two reads of the keys.
        thread::sleep(Duration::from_millis(73) * round);
        let times: Vec<_> = thread::scope(|scope| {
            let ask = |(_, value): &(_, String)| {
                let call = client.get("/v1/pets").authorization(value);
                scope.spawn(move || {
                    let began = Instant::now();
                    call.send().is(401);
                    began.elapsed()
                })
            };
            // The unknown, the revoked and the expired key.
            let asking: Vec<_> = matrix.refused[..3].iter().map(ask).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        });
        let (fastest, slowest) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(*fastest >= Duration::from_millis(100), "{times:?}");
        // All three wait for the same read. If one of them did not wait, most rounds would show it.
        if *slowest < *fastest + Duration::from_millis(50) {
            return;
        }
    }
    panic!("the delays differed in every round");
}
