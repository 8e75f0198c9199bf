//! The fields of the log, and secrets that it must not contain.

mod identity;

use serde_json::Value;

use crate::support::{
    KEY,
    catalogue::{add, pet},
    server::{Launch, Server},
    store::Store,
    wait,
};

fn talkative(access: &str) -> (Store, Server) {
    let store = Store::sqlite();
    let launch = Launch::on(&store).flag("--access-log", access);
    let launch = launch.env("RUST_LOG", "trace").env("PETSTORE_LOG", "trace");
    let server = launch.flag("--log-format", "json").start();
    (store, server)
}

/// Returns a field of a log line as text, from the line itself or from its `fields`; empty if absent.
fn field(line: &Value, name: &str) -> String {
    let found = [&line[name], &line["fields"][name]].into_iter().find(|value| !value.is_null());
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

#[test]
fn every_request_has_a_log_line_with_its_route_and_the_name_of_its_key() {
    let (store, server) = talkative("all");
    let client = server.client();
    add(&client, &pet("secret-name"));
    let [web, revoked] = ["web-2", "revoked"].map(|name| store.new_key(name));
    store.keys(&["revoke", "revoked"]).succeeds();
    let list = |key: &str| client.get("/v1/pets").key(key);
    wait::until("the keys are known", || {
        [&web, &revoked].map(|key| list(key).send().status) == [200, 401]
    });
    let secret = client.get("/v1/pets/secret-1");
    for (n, (call, method, route, status, code, name)) in [
        (client.get("/v1/pets/1").key(&web), "GET", "/v1/pets/{petId}", 200, "", "web-2"),
        (secret, "GET", "/v1/pets/{petId}", 404, "pet_not_found", "service key"),
        (client.get("/v1/pets?secret=2"), "GET", "/v1/pets", 400, "invalid_query", "service key"),
        (list(&revoked), "GET", "/v1/pets", 401, "unauthorized", "revoked"),
        (list(&format!("{web}x")), "GET", "/v1/pets", 401, "unauthorized", ""),
        // The next two paths need no key, so the log names no key.
        (client.get("/readyz").key(&web), "GET", "/readyz", 200, "", ""),
        (client.get("/secret/3"), "GET", "none", 404, "route_not_found", ""),
        (
            client.call("SECRET", "/v1/pets"),
            "other",
            "/v1/pets",
            405,
            "method_not_allowed",
            "service key",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("request-{n}");
        call.header("x-request-id", &id).send().is(status);
        let (line, status) = (server.log_line(&id), status.to_string());
        for (wanted, value) in [
            ("request_id", id.as_str()),
            ("method", method),
            ("route", route),
            ("status", &status),
            ("code", code),
            ("key_name", name),
        ] {
            assert_eq!(field(&line, wanted), value, "{line}");
        }
        assert!(field(&line, "peer").starts_with("127.0.0.1:"), "{line}");
        assert_eq!(server.log().matches(&id).count(), 1, "{line}");
    }
    let log = server.stop();
    for hidden in ["secret", &KEY[4..], &web[4..], &revoked[4..]] {
        assert!(!log.contains(hidden), "{log}");
    }
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
}

#[test]
fn the_log_names_the_deployment_and_can_be_text() {
    for (format, json) in [("json", true), ("text", false)] {
        let store = Store::memory();
        let launch = Launch::on(&store).flag("--environment", "blue-staging");
        let server = launch.flag("--log-format", format).start();
        server.client().get("/nope").header("x-request-id", "the-only-request").send().is(404);
        let log = server.stop();
        let listens = log.lines().find(|line| line.contains("petstore listens")).unwrap();
        assert!(listens.contains("blue-staging"), "{listens}");
        let line = log.lines().find(|line| line.contains("the-only-request")).unwrap();
        assert_eq!(line.starts_with('{'), json, "{line}");
        assert_eq!(line.contains(" peer=127.0.0.1:"), !json, "{line}");
        assert_eq!(line.contains(r#""peer":"127.0.0.1:"#), json, "{line}");
    }
}

#[test]
fn a_key_is_in_no_log_line_no_refusal_and_no_store() {
    let (store, server) = talkative("all");
    let client = server.client();
    let stored = store.new_key("stored");
    let mut refusals = Vec::new();
    for key in [KEY, &stored] {
        let anonymous = client.add(&pet("by none")).anonymous();
        refusals.extend([
            client.get("/v1/pets").key(&format!("{key}x")).send(),
            client.get(&format!("/v1/pets?limit={key}")).send(),
            client.get(&format!("/v1/pets?cursor={key}")).send(),
            client.post("/v1/pets", format!(r#"{{"name":"{key}","categoryId":"{key}"}}"#)).send(),
            client.post("/v1/pets", key).send(),
            client.post("/v1/pets", "{}").header("idempotency-key", key).send(),
            anonymous.header("idempotency-key", key).send(),
            client.post("/v1/pets", "{}").content_type(key).send(),
            client.get("/v1/pets").header("if-none-match", key).anonymous().send(),
        ]);
        client.get("/v1/pets").key(key).send();
        client.add(&pet("by key")).key(key).header("idempotency-key", "k").send();
        client.get(&format!("/v1/pets?api_key={key}")).send().is(400);
        client.get(&format!("/v1/pets/{key}")).send().is(404);
        client.get(&format!("/v1/{key}")).send().is(404);
        client.get(&format!("/{key}")).send().is(404);
        client.get("/v1/pets").anonymous().header("cookie", format!("key={key}")).send().is(401);
        client.get("/v1/pets").authorization(&format!("Basic {key}")).send().is(401);
        client.call(&key.replace('_', "-"), "/v1/pets").send().is(405);
        server.http2().get("/v1/pets").key(key).send();
    }
    assert!(refusals.iter().all(|refusal| refusal.status >= 400), "{refusals:?}");
    let holds = |text: &[u8], key: &str| {
        text.windows(key.len()).any(|window| window.eq_ignore_ascii_case(key.as_bytes()))
    };
    let bytes = store.bytes();
    assert!(holds(&bytes, "by key"), "the file of the store must contain its rows");
    let out = server.out();
    let log = server.stop();
    assert!(log.contains("unauthorized"), "{log}");
    for key in [KEY, &stored, &stored[8..]] {
        for refusal in &refusals {
            assert!(!holds(format!("{refusal:?}").as_bytes(), key), "{refusal:?}");
        }
        assert!(!holds(log.as_bytes(), key), "{log}");
        assert!(!holds(out.as_bytes(), key), "{out}");
        assert!(!holds(&bytes, key));
        assert!(!holds(&store.bytes(), key));
    }
}
