//! CORS: `--cors-origin`. `answer/tests/cors.rs` in `crates/http/src` has the rules.

use crate::support::{command::petstore, server::Launch, store::Store};

#[test]
fn one_variable_sets_several_origins() {
    let origins = ["https://app.example", "http://localhost:3000"];
    let store = Store::memory();
    let server = Launch::on(&store).env("PETSTORE_CORS_ORIGIN", &origins.join(",")).start();
    for client in [server.client(), server.http2()] {
        for origin in origins {
            let answer = client.get("/v1/pets").header("origin", origin).send().is(200);
            assert_eq!(answer.must("access-control-allow-origin"), origin);
            let asks = client.options("/v1/pets").anonymous().header("origin", origin);
            asks.header("access-control-request-method", "POST").send().is(204);
        }
        let stranger = client.get("/v1/pets").header("origin", "https://stranger.example").send();
        assert_eq!(stranger.header("access-control-allow-origin"), None);
    }
    let foreign = petstore(&["serve", "--cors-origin", "https://app.example/"]).finish();
    foreign.fails(2, "without a path");
}
