//! The limit on the size of a body, and refusals before the client sends its body.

use crate::support::{catalogue::pet, raw::head, rules::Sent, server::Server};

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn a_client_with_expect_continue_need_not_send_a_refused_body() {
    let server = Server::in_memory();
    let body = pet("Rex").to_string();
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
fn a_refusal_of_the_head_does_not_wait_for_the_body() {
    let server = Server::in_memory();
    let length = "content-length: 1000\r\n";
    for (method, target, headers, status) in [
        ("POST", "/v1/nope", "content-type: application/json\r\n", 404),
        ("PUT", "/v1/pets", "content-type: application/json\r\n", 405),
        ("POST", "/v1/pets", "content-type: text/plain\r\n", 415),
        ("POST", "/v1/pets", "", 415),
    ] {
        let mut raw = server.raw();
        raw.send(head(method, target, &format!("{headers}{length}")));
        raw.answer(method, target).is(status);
    }
    let mut raw = server.raw();
    raw.send(format!("POST /v1/pets HTTP/1.1\r\nhost: petstore\r\n{length}\r\n"));
    let sent = Sent { credential: Some(false), ..Sent::new("POST", "/v1/pets") };
    raw.answer_to(&sent).refuses(401, "unauthorized");
}
