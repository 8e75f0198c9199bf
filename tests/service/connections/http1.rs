//! HTTP/1.1 on the wire. `faults::framing` has the requests that can be read in two ways.

use crate::support::{
    catalogue::pet,
    raw::{head, post},
    rules::Sent,
    server::Server,
};

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn a_client_gets_its_answer_after_it_closes_its_sending_side() {
    let server = Server::in_memory();
    let mut raw = server.raw();
    raw.send(post(&pet("half closed").to_string()));
    raw.send_no_more();
    raw.answer("POST", "/v1/pets").is(201);
    raw.is_closed();
    let mut old = server.raw();
    old.send("GET /livez HTTP/1.0\r\n\r\n");
    let text = String::from_utf8(old.rest()).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 "), "{text}");
}

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
    raw.send(head("GET", "/livez", ""));
    raw.answer("GET", "/livez").is(200);

    let wrong = head("POST", "/v1/pets", &more).replace("Bearer ", "Bearer x");
    let large = head("POST", "/v1/pets", &more.replace("length: ", "length: 99999"));
    for (request, status) in [(wrong, 401), (large, 413)] {
        let mut raw = server.raw();
        raw.send(request);
        let sent = Sent { credential: Some(true), ..Sent::new("POST", "/v1/pets") };
        raw.answer_to(&sent).is(status);
    }
}
