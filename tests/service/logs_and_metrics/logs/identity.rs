//! The API key, the peer and the client of a request in the log.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
};

use petstore_testing::needs;
use serde_json::Value;

use super::field;
use crate::support::{
    KEY,
    proxy::{Kind, Proxy},
    raw::{self, Raw},
    server::{Launch, Server},
    store::Store,
    tls::{Pair, Tls},
    wait,
};

/// Waits for the line of the only request with this status.
fn line_of(server: &Server, status: u16) -> Value {
    let mut found = None;
    wait::until("the request is logged", || {
        let log = server.log();
        let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        found = lines.find(|line| field(line, "status") == status.to_string());
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_line_has_the_name_of_a_key_that_is_or_was_valid_and_of_no_other() {
    let store = Store::sqlite();
    let server = Launch::on(&store).flag("--access-log", "all").start();
    let [web, revoked] = ["web-2", "revoked"].map(|name| store.new_key(name));
    store.keys(&["revoke", "revoked"]).succeeds();
    for (protocol, client) in [("http1", server.client()), ("http2", server.http2())] {
        wait::until("the revoked key is refused", || {
            client.get("/v1/pets").key(&revoked).send().status == 401
        });
        wait::until("the new key is known", || {
            client.get("/v1/pets").key(&web).send().status == 200
        });
        let list = || client.get("/v1/pets");
        for (n, (call, status, name)) in [
            (list().key(&web), 200, "web-2"),
            (list().key(KEY), 200, "service key"),
            (client.post("/v1/pets", "{}").key(&web), 400, "web-2"),
            (client.get("/v1/nothing").key(&web), 404, "web-2"),
            (client.call("DELETE", "/v1/pets").key(&web), 405, "web-2"),
            (list().key(&revoked), 401, "revoked"),
            (list().key(&format!("{web}x")), 401, ""),
            (list().authorization(&format!("Basic {web}")), 401, ""),
            (list().anonymous(), 401, ""),
            // This path needs no key, so the log names none.
            (client.get("/livez").key(&web), 200, ""),
        ]
        .into_iter()
        .enumerate()
        {
            let id = format!("{n}-over-{protocol}");
            call.header("x-request-id", &id).send().is(status);
            let line = server.log_line(&id);
            assert_eq!(field(&line, "key_name"), name, "{line}");
            assert!(field(&line, "peer").starts_with("127.0.0.1:"), "{line}");
        }
    }
    let log = server.stop();
    for key in [KEY, &web, &revoked] {
        assert!(!log.contains(&key[4..]), "{log}");
    }
}

/// Hyper does not read these requests to their end, so the service logs them elsewhere.
#[test]
fn the_line_of_an_unreadable_request_names_its_peer() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--header-timeout", "200ms");
    let server = launch.flag("--body-timeout", "200ms").start();
    let large = raw::head("GET", "/livez", &format!("x: {}\r\n", "x".repeat(20_000)));
    let half = raw::post("{}");
    for (request, status, code, method) in [
        ("not HTTP\r\n\r\n", 400, "", "none"),
        (&large, 431, "", "none"),
        ("GET /v1/pets HTTP/1.1\r\n", 408, "request_timeout", "none"),
        (&half[..half.len() - 1], 408, "request_timeout", "POST"),
    ] {
        let mut raw = server.raw();
        raw.try_send(request, wait::LIMIT);
        let peer = raw.local_address().to_string();
        let line = server.log_line(&peer);
        assert_eq!(field(&line, "peer"), peer);
        assert_eq!(field(&line, "status"), status.to_string(), "{line}");
        assert_eq!((field(&line, "code"), field(&line, "method")), (code.into(), method.into()));
    }
}

#[test]
fn the_log_names_the_peers_of_a_tls_connection_and_of_a_unix_socket() {
    let (store, folder, pair) = (Store::memory(), tempfile::tempdir().unwrap(), Pair::new());
    let (files, path) = (pair.write(folder.path()), folder.path().join("http.sock"));
    let launch = Launch::on(&store).flag("--access-log", "all").tls(&files);
    let server = launch.flag("--listen", &format!("unix:{}", path.display())).start();
    let mut tls = Tls::connect(server.address, &pair, &["http/1.1"]).unwrap();
    tls.ask("GET", "/v1/pets");
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(wait::LIMIT)).unwrap();
    stream.write_all(raw::head("GET", "/v1/pets/1", "connection: close\r\n").as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    for (status, peer) in [(200, tls.local_address().to_string()), (404, "unix".to_owned())] {
        let line = line_of(&server, status);
        assert_eq!(field(&line, "peer"), peer, "{line}");
        assert_eq!(field(&line, "key_name"), "service key", "{line}");
    }
}

/// Returns the client that the service logs for a request through a proxy.
fn client_behind(kind: Kind, path: &str, more: &[(&str, &str)]) -> String {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--access-log", "all").flag("--log-format", "json");
    let launch = more.iter().fold(launch, |launch, (flag, value)| launch.flag(flag, value));
    let server = launch.start();
    let proxy = Proxy::start(kind, &server);
    let mut raw = Raw::to(proxy.address);
    // The service ignores `Forwarded`.
    let forged = "forwarded: for=198.51.100.1\r\nx-forwarded-for: 203.0.113.7\r\n";
    let fields = format!("{forged}x-request-id: through-the-proxy\r\n");
    raw.send(raw::head("GET", path, &fields));
    raw.any_answer(false);
    let line = server.log_line("through-the-proxy");
    assert!(field(&line, "peer").starts_with("127.0.0.1:"), "{line}");
    field(&line, "client")
}

fn the_client_behind_a_trusted_proxy_is_named(kind: Kind) {
    let trusted = [("--trusted-proxy", "192.0.2.0/24,127.0.0.1")];
    // nginx and HAProxy pass on the client's `X-Forwarded-For`, and the client's address is trusted too.
    let expected = if kind == Kind::Caddy { "127.0.0.1" } else { "203.0.113.7" };
    for path in ["/v1/pets", "/animals/v1/pets"] {
        assert_eq!(client_behind(kind, path, &trusted), expected, "{path}");
    }
    for untrusted in [&[][..], &[("--trusted-proxy", "unix,127.0.0.2")]] {
        assert_eq!(client_behind(kind, "/v1/pets", untrusted), "");
    }
}

#[needs(nginx)]
#[test]
fn the_client_behind_nginx_is_named() {
    the_client_behind_a_trusted_proxy_is_named(Kind::Nginx);
}

#[needs(haproxy)]
#[test]
fn the_client_behind_haproxy_is_named() {
    the_client_behind_a_trusted_proxy_is_named(Kind::Haproxy);
}

#[needs(caddy)]
#[test]
fn the_client_behind_caddy_is_named() {
    the_client_behind_a_trusted_proxy_is_named(Kind::Caddy);
}
