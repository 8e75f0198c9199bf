//! The limit on the size of a body, and a refusal that the client can read.

use std::{io::Cursor, thread, time::Duration};

use crate::support::{
    catalogue::pet,
    raw::{Raw, head},
    rules::Sent,
    server::Launch,
    shared,
    store::Store,
    wait,
};

const LIMIT: usize = 64 * 1024;
const MEGABYTE: usize = 1 << 20;
const JSON: &str = "content-type: application/json\r\n";

/// Returns an animal whose body has exactly this many bytes.
fn padded(bytes: usize) -> Vec<u8> {
    let mut body = pet("padded").to_string().into_bytes();
    body.resize(bytes, b' ');
    body
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in body.chunks(10_000) {
        text.extend(format!("{:x}\r\n", chunk.len()).bytes());
        text.extend(chunk);
        text.extend(b"\r\n");
    }
    text.extend(b"0\r\n\r\n");
    text
}

fn post_chunked(raw: &mut Raw, body: &[u8]) {
    raw.send(head("POST", "/v1/pets", &format!("{JSON}transfer-encoding: chunked\r\n")));
    raw.send(chunked(body));
}

#[test]
fn a_body_of_exactly_the_limit_is_taken() {
    let server = shared::server();
    for client in [server.client(), server.http2()] {
        client.post("/v1/pets", padded(LIMIT)).send().is(201);
        client.post("/v1/pets", padded(LIMIT + 1)).send().refuses(413, "body_too_large");
    }
    let mut raw = server.raw();
    post_chunked(&mut raw, &padded(LIMIT));
    raw.answer("POST", "/v1/pets").is(201);
    let mut raw = server.raw();
    post_chunked(&mut raw, &padded(MEGABYTE));
    raw.answer("POST", "/v1/pets").refuses(413, "body_too_large");
    let unannounced = |size| server.http2().post("/v1/pets", "").stream(Cursor::new(padded(size)));
    unannounced(LIMIT).is(201);
    unannounced(LIMIT + 1).refuses(413, "body_too_large");
}

#[test]
fn a_length_over_the_limit_is_refused_before_the_body() {
    for length in [LIMIT + 1, MEGABYTE, 1 << 40] {
        let mut raw = shared::server().raw();
        raw.send(head("POST", "/v1/pets", &format!("{JSON}content-length: {length}\r\n")));
        raw.answer("POST", "/v1/pets").refuses(413, "body_too_large");
    }
}

#[test]
fn a_client_that_sends_everything_first_can_read_the_refusal() {
    let lengths = format!("{JSON}content-length: {MEGABYTE}\r\n");
    let authorised = head("POST", "/v1/pets", &lengths);
    let anonymous = format!("POST /v1/pets HTTP/1.1\r\nhost: petstore\r\n{lengths}\r\n");
    for (request, status) in [(authorised, 413), (anonymous, 401)] {
        let mut raw = shared::server().raw();
        raw.send(request);
        // The body is so slow that the refusal comes long before its end.
        for piece in vec![b' '; MEGABYTE].chunks(MEGABYTE / 32) {
            raw.send(piece);
            thread::sleep(Duration::from_millis(5));
        }
        raw.answer("POST", "/v1/pets").is(status);
    }
}

#[test]
fn an_endless_body_is_cut_off_and_the_server_keeps_serving() {
    let server = shared::server();
    let mut raw = server.raw();
    raw.send(head("POST", "/v1/pets", &format!("{JSON}transfer-encoding: chunked\r\n")));
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    let limit = Duration::from_secs(20);
    let taken = (0..4096).take_while(|_| raw.try_send(&chunk, limit)).count();
    assert!(taken < 4096, "256 MiB were taken");
    server.client().get("/v1/pets").send().is(200);
}

#[test]
fn a_client_that_asks_first_need_not_send_what_is_refused() {
    let server = shared::server();
    let body = padded(100);
    let more = format!("{JSON}content-length: {}\r\nexpect: 100-continue\r\n", body.len());

    let mut raw = server.raw();
    raw.send(head("POST", "/v1/pets", &more));
    assert_eq!(raw.any_answer(false).status, 100);
    raw.send(&body);
    raw.answer("POST", "/v1/pets").is(201);

    let wrong = head("POST", "/v1/pets", &more).replace("Bearer ", "Bearer x");
    let large = head("POST", "/v1/pets", &more.replace("length: ", "length: 99999"));
    for (request, status) in [(wrong, 401), (large, 413)] {
        let mut raw = server.raw();
        raw.send(request);
        let sent = Sent { credential: Some(true), ..Sent::new("POST", "/v1/pets") };
        raw.answer_to(&sent).is(status);
    }
}

#[test]
fn the_limit_is_the_operators_choice() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--max-body", "1KiB").start();
    server.client().post("/v1/pets", padded(1024)).send().is(201);
    server.client().post("/v1/pets", padded(1025)).send().refuses(413, "body_too_large");
}

#[test]
fn buffered_bodies_share_one_bound() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--max-buffered-bodies", "64KiB");
    let server = launch.flag("--body-timeout", "2m").start();
    let announce = format!("{JSON}content-length: {LIMIT}\r\n");
    let body = padded(LIMIT);
    let add = || server.client().post("/v1/pets", body.clone()).send();
    // On a busy machine, the service may read the other body first.
    wait::until("a body is refused while another one is held", || {
        let mut held = server.raw();
        held.send(head("POST", "/v1/pets", &announce));
        held.send(&body[..LIMIT - 1]);
        thread::sleep(Duration::from_millis(50));
        let refusal = add();
        held.send(&body[LIMIT - 1..]);
        if refusal.status != 503 || held.answer("POST", "/v1/pets").status != 201 {
            return false;
        }
        refusal.refuses(503, "unavailable").must("retry-after");
        true
    });
    add().is(201);
}
