//! Which addresses there are, and what they can do.

use crate::support::{
    catalogue::{add, id_of, pet},
    raw::head,
    shared,
};

#[test]
fn other_paths_under_v1_do_not_exist() {
    let client = shared::server().client();
    for target in [
        "/v1",
        "/v1/",
        "/v1/pets/",
        "/v1/pets/1/",
        "/v1/pets/a/b",
        "/v1//pets",
        "/v1/Pets",
        "/v1/pet",
        "/v1/petsx",
        "/v1/store",
        "/v1/store/",
        "/v1/store/orders/",
        "/v1/store/orders/1",
        "/v1/docs",
        "/v1/openapi.json",
        "/v1/livez",
        "/v1?limit=5",
    ] {
        for method in ["GET", "POST", "OPTIONS", "DELETE"] {
            client.call(method, target).send().refuses(404, "route_not_found");
        }
        client.head(target).send().is(404);
    }
}

#[test]
fn other_paths_outside_v1_do_not_exist_and_need_no_credential() {
    let client = shared::server().client();
    for target in [
        "/v1x",
        "/v1x/pets",
        "/v2/pets",
        "/V1/pets",
        "/pets",
        "/pets/1",
        "/docs//",
        "/doc/",
        "/livez/",
        "/readyz/x",
        "/openapi.yaml",
        "/favicon.ico",
        "/index.html",
        "/store/orders",
        "//",
        "//v1/pets",
        "/metrics",
    ] {
        for method in ["GET", "POST", "OPTIONS", "DELETE"] {
            let refusal = client.call(method, target).anonymous().send();
            refusal.refuses(404, "route_not_found");
        }
        client.head(target).anonymous().send().is(404);
    }
}

#[test]
fn dots_and_escapes_do_not_lead_elsewhere() {
    for (target, status) in [
        ("/docs/../v1/pets", 404),
        ("/v1/../docs", 404),
        ("/v1/pets/..", 404),
        ("/v1/./pets", 404),
        ("/v1/pets%2F1", 404),
        ("/v1%2Fpets", 404),
    ] {
        let mut raw = shared::server().raw();
        raw.send(head("GET", target, ""));
        raw.answer("GET", target).is(status);
    }
}

#[test]
fn a_method_that_a_path_lacks_is_refused_with_those_it_has() {
    let client = shared::server().client();
    let id = id_of(&add(&client, &pet("routed")));
    let one = format!("/v1/pets/{id}");
    let reading = ["GET", "HEAD", "OPTIONS"];
    for (target, has) in [
        ("/v1/pets", &["GET", "HEAD", "OPTIONS", "POST"][..]),
        (&one, &reading),
        ("/v1/pets/0", &reading),
        ("/v1/pets/abc", &reading),
        ("/v1/store/orders", &reading),
    ] {
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"] {
            if !has.contains(&method) {
                let refusal = client.call(method, target).send();
                let refusal = refusal.refuses(405, "method_not_allowed");
                assert_eq!(refusal.allow(), has, "{method} {target}");
            }
        }
        let options = client.options(target).send().is(204);
        assert_eq!(options.allow(), has, "{target}");
    }
}

#[test]
fn the_options_of_all_resources_are_none() {
    let mut raw = shared::server().raw();
    raw.send("OPTIONS * HTTP/1.1\r\nhost: petstore\r\n\r\n");
    raw.answer("OPTIONS", "*").refuses(404, "route_not_found");
}
