//! Refusals before the client sends its body.

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
