//! HTTP/1.1 on the wire. `faults::framing` has the requests that can be read in two ways.

use crate::support::{catalogue::pet, raw::post, server::Server};

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
