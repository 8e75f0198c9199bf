//! Every bad credential gets the same answer: status, headers and body.
//!
//! `authentication/tests.rs` in `crates/http/src` checks that all refusals are delayed equally.

use crate::support::{
    KEY,
    answer::Answer,
    client::{Call, Client},
    server::Launch,
    store::Store,
    wait,
};

/// Returns the answer without its date and its identifiers.
fn alike(answer: &Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    (answer.status, answer.lasting_headers(), answer.body.clone())
}

#[test]
fn every_bad_credential_has_the_same_answer() {
    let store = Store::sqlite();
    let foreign = Store::sqlite().new_key("foreign");
    let (live, revoked) = (store.new_key("live"), store.new_key("revoked"));
    let expired = store.keys(&["create", "expired", "--expires", "1s"]).succeeds();
    let expired = expired.trim_end();
    store.keys(&["revoke", "revoked"]).succeeds();
    let server = Launch::on(&store).start();
    let is_refused = || server.client().get("/v1/pets").key(expired).send().status == 401;
    wait::until("the key expires", is_refused);
    let last = if live.ends_with('x') { 'y' } else { 'x' };
    let mistyped = format!("{}{last}", &live[..live.len() - 1]);
    let bearer = |key: &str| format!("Bearer {key}");
    let refused = [
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
    let requests: [fn(&Client) -> Call; 2] = [
        |client| client.post("/v1/pets", r#"{"name":"Rex","categoryId":1}"#),
        |client| client.call("DELETE", "/v1/nope"),
    ];
    for client in [server.client(), server.http2()] {
        for request in requests {
            let expected = request(&client).authorization(&refused[0].1).send();
            let expected = expected.refuses(401, "unauthorized");
            let challenge = "Bearer realm=\"petstore\", error=\"invalid_token\"";
            assert_eq!(expected.must("www-authenticate"), challenge);
            let two = request(&client).header("authorization", format!("Bearer {KEY}"));
            let calls =
                refused.iter().map(|(name, value)| (*name, request(&client).authorization(value)));
            for (name, call) in calls.chain([("two good headers", two)]) {
                assert_eq!(alike(&call.send()), alike(&expected), "{name}");
            }
        }
    }
}
