//! The fields of the log, and secrets that it must not contain.

mod identity;

use std::fs;

use serde_json::Value;

use crate::support::{
    KEY,
    catalogue::{add, pet},
    client::{Call, Client},
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

/// A request, and its method, route, status, error code and key name in the log.
type Row = (Call, &'static str, &'static str, u16, &'static str, &'static str);

const PETS: &str = "/v1/pets";
const PET: &str = "/v1/pets/{petId}";
const ORDERS: &str = "/v1/store/orders";
const SERVICE: &str = "service key";

fn requests(client: &Client, web: &str, revoked: &str) -> [Row; 18] {
    let list = || client.get(PETS);
    let delete = client.call("DELETE", PETS);
    let refused = |call, name| (call, "GET", PETS, 401, "unauthorized", name);
    [
        (client.get("/v1/pets?limit=5"), "GET", PETS, 200, "", SERVICE),
        (client.head(PETS), "HEAD", PETS, 200, "", SERVICE),
        (client.add(&pet("secret-name")), "POST", PETS, 201, "", SERVICE),
        (client.get("/v1/pets/1").key(web), "GET", PET, 200, "", "web-2"),
        (client.get("/v1/pets/secret-1"), "GET", PET, 404, "pet_not_found", SERVICE),
        (client.get("/v1/pets?secret=2"), "GET", PETS, 400, "invalid_query", SERVICE),
        (client.post(PETS, "{}").key(web), "POST", PETS, 400, "invalid_pet", "web-2"),
        refused(list().key("secret-key-456789"), ""),
        refused(list().key(revoked), "revoked"),
        refused(list().key(&format!("{web}x")), ""),
        refused(list().authorization(&format!("Basic {web}")), ""),
        refused(list().anonymous(), ""),
        (client.get(ORDERS), "GET", ORDERS, 501, "not_implemented", SERVICE),
        (client.get("/v1/nothing").key(web), "GET", "", 404, "route_not_found", "web-2"),
        // The next two paths need no key, so the log names no key.
        (client.get("/readyz").key(web), "GET", "/readyz", 200, "", ""),
        (client.get("/secret/3"), "GET", "", 404, "route_not_found", ""),
        (delete, "DELETE", "", 405, "method_not_allowed", SERVICE),
        (client.call("SECRET", PETS), "other", "", 405, "method_not_allowed", SERVICE),
    ]
}

#[test]
fn every_request_has_a_log_line_with_its_route_and_the_name_of_its_key() {
    let (store, server) = talkative("all");
    add(&server.client(), &pet("logged"));
    let [web, revoked] = ["web-2", "revoked"].map(|name| store.new_key(name));
    store.keys(&["revoke", "revoked"]).succeeds();
    let status_of = |key: &str| server.client().get(PETS).key(key).send().status;
    wait::until("the keys are known", || (status_of(&revoked), status_of(&web)) == (401, 200));
    for (protocol, client) in [("http1", server.client()), ("http2", server.http2())] {
        let requests = requests(&client, &web, &revoked).into_iter().enumerate();
        for (n, (call, method, route, status, code, name)) in requests {
            let id = format!("request-{n}-over-{protocol}");
            call.header("x-request-id", &id).send().is(status);
            let (line, status) = (server.log_line(&id), status.to_string());
            for (wanted, value) in [
                ("request_id", id.as_str()),
                ("method", method),
                ("status", &status),
                ("code", code),
                ("key_name", name),
            ] {
                assert_eq!(field(&line, wanted), value, "{line}");
            }
            assert!(route.is_empty() || field(&line, "route") == route, "{line}");
            assert!(field(&line, "peer").starts_with("127.0.0.1:"), "{line}");
            assert_eq!(server.log().matches(&id).count(), 1, "{line}");
        }
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

#[test]
fn a_key_is_in_no_core_dump() {
    let store = Store::memory();
    let server = Launch::on(&store).with_limit("-Sc \"$(ulimit -Hc)\"").start();
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().next(), Some("0"), "{limits}");
}
