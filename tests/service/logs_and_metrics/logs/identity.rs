//! The peer and the client of a request in the log.

use petstore_testing::needs;

use super::field;
use crate::support::{
    proxy::{Kind, Proxy},
    raw::{self, Raw},
    server::Launch,
    store::Store,
    wait,
};

/// Most of these requests have no whole head, so they reach no handler, and other code logs them.
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

#[needs(nginx, haproxy, caddy)]
#[test]
fn the_client_behind_a_trusted_proxy_is_named() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--access-log", "all").flag("--log-format", "json");
    let server = launch.flag("--trusted-proxy", "192.0.2.0/24,127.0.0.1").start();
    // nginx and HAProxy pass on the `X-Forwarded-For` of the test, and Caddy drops it. The address of the test is
    // trusted like the address of the proxy, so the service looks behind it.
    for (kind, expected) in
        [(Kind::Nginx, "203.0.113.7"), (Kind::Haproxy, "203.0.113.7"), (Kind::Caddy, "127.0.0.1")]
    {
        let proxy = Proxy::start(kind, &server);
        for (number, path) in ["/v1/pets", "/animals/v1/pets"].into_iter().enumerate() {
            let id = format!("request-{number}-through-{kind:?}");
            // The service ignores `Forwarded`.
            let forged = "forwarded: for=198.51.100.1\r\nx-forwarded-for: 203.0.113.7\r\n";
            let mut raw = Raw::to(proxy.address);
            raw.send(raw::head("GET", path, &format!("{forged}x-request-id: {id}\r\n")));
            let status = raw.any_answer(false).status;
            // Only the configuration of nginx has a prefix, which it strips.
            let is_stripped = kind == Kind::Nginx || !path.starts_with("/animals");
            assert_eq!(status, if is_stripped { 200 } else { 404 }, "{kind:?} {path}");
            let line = server.log_line(&id);
            assert!(field(&line, "peer").starts_with("127.0.0.1:"), "{line}");
            assert_eq!(field(&line, "client"), expected, "{kind:?} {path}: {line}");
        }
    }
}
