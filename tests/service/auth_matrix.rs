//! Every credential that is not good is answered alike: status, headers, body, and time.

use std::time::{Duration, Instant};

use crate::support::{
    KEY,
    answer::Answer,
    client::{Call, Client},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// A server, and a name and value of `Authorization` for each way to be refused.
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
        let mistyped = format!("{}x", &live[..live.len() - 1]);
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

/// All of an answer but its date and its identifier.
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
    for client in [matrix.server.client(), matrix.server.http2()] {
        for request in requests {
            let refusal = |value: &str| request(&client).authorization(value).send();
            let (_, first) = &matrix.refused[0];
            let expected = refusal(first).refuses(401, "unauthorized");
            let challenge = "Bearer realm=\"petstore\", error=\"invalid_token\"";
            assert_eq!(expected.must("www-authenticate"), challenge);
            assert!(expected.message().contains("Authorization: Bearer"), "{expected:?}");
            for (name, value) in &matrix.refused {
                assert_eq!(alike(&refusal(value)), alike(&expected), "{name}");
            }
            let two = request(&client).header("authorization", format!("Bearer {KEY}"));
            assert_eq!(alike(&two.send()), alike(&expected), "two good headers");
        }
    }
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
        // What belongs to the deprecated operation comes with its address.
        let of_get_pet = ["deprecation", "sunset", "link"];
        answer.headers.retain(|(name, _)| !of_get_pet.contains(&name.as_str()));
        assert_eq!(alike(&answer), alike(&expected), "{place}");
    }
}

#[test]
fn no_bad_credential_takes_longer_than_another() {
    const ROUNDS: usize = 101;
    let matrix = Matrix::new();
    let client = matrix.server.client();
    let mut times = vec![Vec::new(); matrix.refused.len()];
    // In turns, so that what the machine does besides concerns all alike.
    for _ in 0..ROUNDS {
        for ((_, value), times) in matrix.refused.iter().zip(&mut times) {
            let began = Instant::now();
            client.get("/v1/pets").authorization(value).send().is(401);
            times.push(began.elapsed());
        }
    }
    let medians: Vec<_> = times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times[ROUNDS / 2]
        })
        .collect();
    let (fastest, slowest) = (medians.iter().min().unwrap(), medians.iter().max().unwrap());
    // Far more than noise, far less than a read of the store or a pause would take in each request.
    assert!(*slowest < *fastest * 5 + Duration::from_millis(20), "{medians:?}");
}
