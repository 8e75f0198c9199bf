//! Request smuggling: a service behind a proxy must not find more requests in the bytes than the proxy sent.

use petstore_testing::needs;

use super::tricks;
use crate::support::{
    proxy::{Kind, Proxy},
    raw::{Raw, head},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Returns the number of requests that the service has answered, without the proxy's health checks.
fn seen(server: &Server) -> usize {
    let log = server.log();
    let requests = log.lines().filter(|line| line.contains("\"request_id\""));
    requests.filter(|line| !line.contains("\"/readyz\"")).count()
}

fn the_service_sees_only_requests_that_the_proxy_sent(kind: Kind) {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--access-log", "all").start();
    let proxy = Proxy::start(kind, &server);
    for trick in tricks::all() {
        let mut raw = Raw::to(proxy.address);
        raw.send(&trick.bytes);
        // This waits until the proxy closes the connection: after a refusal, or after a timeout.
        raw.rest();
        // Later requests on the connections between the proxy and the service get their own answers.
        for _ in 0..2 {
            let mut raw = Raw::to(proxy.address);
            raw.send(head("GET", "/livez", "connection: close\r\n"));
            let answer = raw.try_answer(false).unwrap();
            assert_eq!(answer.status, 200, "{}: {answer:?}", trick.what);
        }
        let all_logged = || seen(&server) >= 2 && proxy.sent() >= seen(&server);
        wait::until(trick.what, all_logged);
    }
    assert!(seen(&server) > 2 * tricks::all().len());
    assert!(proxy.sent() >= seen(&server));
}

#[needs(nginx, time)]
#[test]
fn no_request_is_smuggled_through_nginx() {
    the_service_sees_only_requests_that_the_proxy_sent(Kind::Nginx);
}

#[needs(haproxy, time)]
#[test]
fn no_request_is_smuggled_through_haproxy() {
    the_service_sees_only_requests_that_the_proxy_sent(Kind::Haproxy);
}
