//! HEAD wherever GET: the same status and headers, and no body.

use crate::support::{
    catalogue::{add, id_of, pet},
    client::{Call, Client},
    raw::head,
    shared,
};

fn pairs(client: &Client, target: &str) -> [(Call, Call); 3] {
    [
        (client.get(target), client.head(target)),
        (client.get(target).anonymous(), client.head(target).anonymous()),
        (
            client.get(target).header("if-none-match", "*"),
            client.head(target).header("if-none-match", "*"),
        ),
    ]
}

#[test]
fn head_answers_as_get_does() {
    // The store that nobody else writes to, so that nothing changes between the two.
    let (_store, server) = crate::support::server::Server::in_memory();
    let id = id_of(&add(&server.client(), &pet("headed")));
    let one = format!("/v1/pets/{id}");
    for client in [server.client(), server.http2()] {
        for target in [
            "/",
            "/docs",
            "/docs/",
            "/catalogue",
            "/openapi.json",
            "/livez",
            "/readyz",
            "/nope",
            "/v1/pets",
            "/v1/pets?limit=1",
            "/v1/pets?limit=0",
            &one,
            "/v1/pets/0",
            "/v1/pets/abc",
            "/v1/store/orders",
            "/v1/nope",
        ] {
            for (get, head) in pairs(&client, target) {
                let (get, head) = (get.send(), head.send());
                assert_eq!(head.status, get.status, "{target}");
                assert_eq!(head.lasting_headers(), get.lasting_headers(), "{target}");
                if ![304].contains(&get.status) {
                    assert_eq!(head.must("content-length"), get.body.len().to_string());
                }
            }
        }
    }
}

#[test]
fn nothing_follows_the_head() {
    // Were there a body, the next answer on the connection would begin with it.
    let mut raw = shared::server().raw();
    for target in ["/v1/pets", "/v1/pets/0", "/docs", "/v1/store/orders", "/nope"] {
        raw.send(head("HEAD", target, ""));
        raw.answer("HEAD", target);
        raw.send(head("GET", "/livez", ""));
        raw.answer("GET", "/livez").is(200);
    }
}
