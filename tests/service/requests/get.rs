//! `GET /v1/pets/{petId}`: interface, section 4.3.

use crate::support::{
    answer::Answer,
    catalogue::{add, id_of, pet_with_status},
    raw,
    server::Server,
    shared,
};

#[track_caller]
pub(crate) fn says_that_it_will_end(answer: &Answer) {
    says_that_it_is_deprecated(answer, Some("Thu, 05 Dec 2030 00:00:00 GMT"));
}

/// The same, with this date as its end.
#[track_caller]
pub(crate) fn says_that_it_is_deprecated(answer: &Answer, sunset: Option<&str>) {
    assert_eq!(answer.must("deprecation"), "@1795132800");
    assert_eq!(answer.header("sunset"), sunset);
    let link = "</v1/pets?status=available>; rel=\"successor-version\"";
    assert_eq!(answer.all("link"), [link]);
}

#[test]
fn what_is_not_the_plain_form_of_an_identifier_names_no_animal() {
    let no_animal = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "99999999999999999999999999",
        "abc",
        "+1",
        "%2B1",
        "01",
        "1.0",
        "1e0",
        "-0",
        "0x1",
        "1%20",
        "%201",
        "1%00",
        "%FF",
        "%D9%A1",
        "null",
        "1,2",
        "-",
        "1;v=2",
    ];
    let server = shared::server();
    // There is one, so that `01` could be taken for it.
    add(&server.client(), &pet_with_status("first", "sold"));
    for id in no_animal {
        let target = format!("/v1/pets/{id}");
        let refusal = server.client().get(&target).send().refuses(404, "pet_not_found");
        says_that_it_will_end(&refusal);
    }
}

#[test]
fn absent_and_impossible_animals_look_the_same() {
    let client = shared::server().client();
    let absent = client.get("/v1/pets/9223372036854775807").send().is(404);
    let impossible = client.get("/v1/pets/abc").send().is(404);
    assert_eq!(absent.text(), impossible.text());
    assert_eq!(absent.lasting_headers(), impossible.lasting_headers());
}

#[test]
fn every_answer_says_that_the_operation_will_end() {
    // The tag holds, because this test alone adds animals here.
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let id = id_of(&add(&client, &pet_with_status("ending", "sold")));
    let target = format!("/v1/pets/{id}");
    let tag = client.get(&target).send().is(200).must("etag").to_owned();
    for (call, status) in [
        (client.get(&target), 200),
        (client.head(&target), 200),
        (client.get(&target).header("if-none-match", &tag), 304),
        (client.head(&target).header("if-none-match", &tag), 304),
        (client.get(&target).anonymous(), 401),
        (client.head(&target).key("wrong"), 401),
        (client.get("/v1/pets/0"), 404),
        (client.head("/v1/pets/abc"), 404),
        (client.get(&format!("{target}?x=1")), 400),
    ] {
        says_that_it_will_end(&call.send().is(status));
    }
}

#[test]
fn nothing_else_says_so() {
    let client = shared::server().client();
    let id = id_of(&add(&client, &pet_with_status("not ending", "sold")));
    for call in [
        client.get("/v1/pets?limit=1"),
        client.get("/v1/store/orders"),
        client.get("/v1/pets/1/2"),
        client.add(&pet_with_status("not ending", "sold")),
        client.get("/livez"),
    ] {
        let answer = call.send();
        assert_eq!(answer.header("deprecation"), None, "{answer:?}");
        assert_eq!(answer.header("sunset"), None, "{answer:?}");
        assert_eq!(answer.link("successor-version"), None, "{answer:?}");
    }
    client.get(&format!("/v1/pets/{id}")).send().is(200);
}

#[test]
fn a_body_sent_with_a_get_is_not_looked_at() {
    let server = shared::server();
    let id = id_of(&add(&server.client(), &pet_with_status("bodied", "sold")));
    let target = format!("/v1/pets/{id}");
    let mut raw = server.raw();
    for _ in 0..2 {
        raw.send(raw::head("GET", &target, "content-length: 5\r\n") + "what?");
        raw.answer("GET", &target).is(200);
    }
}
