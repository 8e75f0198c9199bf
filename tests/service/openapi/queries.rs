//! The service accepts exactly the queries that the document allows.

use serde_json::json;

use super::document::{Document, agree, integer};
use crate::support::{answer::Answer, catalogue::pet};

#[test]
fn a_limit_is_accepted_exactly_within_its_bounds() {
    let (_server, client, document) = Document::with_server();
    let limit = &document.at("/components/parameters/limit")["schema"];
    let (least, most) = (integer(limit, "minimum"), integer(limit, "maximum"));
    let list = |limit: i128| client.get(&format!("/v1/pets?limit={limit}")).send();
    list(least).is(200);
    list(most).is(200);
    for outside in [least - 1, most + 1] {
        list(outside).refuses(400, "invalid_query");
    }

    for _ in 0..=most {
        client.add(&pet("one of many")).send().is(201);
    }
    let count = |page: Answer| page.is(200).json().as_array().unwrap().len() as i128;
    assert_eq!(count(client.get("/v1/pets").send()), integer(limit, "default"));
    let longest = integer(document.at("/components/schemas/Pets"), "maxItems");
    assert_eq!(count(list(most)), longest);
}

#[test]
fn a_status_is_accepted_exactly_if_the_document_lists_it() {
    let (_server, client, document) = Document::with_server();
    let schema = document.at("/components/schemas/PetStatus");
    let listed = schema["enum"].as_array().unwrap().iter().filter_map(|status| status.as_str());
    for status in listed.chain(["", "Sold", "AVAILABLE", "gone", "sold,pending", "null"]) {
        let allowed = document.fits(schema, &json!(status));
        let list = client.get(&format!("/v1/pets?status={status}")).send();
        agree(&allowed, list, 200, "invalid_query");
        let body = json!({ "name": "Rex", "categoryId": 1, "status": status });
        agree(&allowed, client.add(&body).send(), 201, "invalid_pet");
    }
}

#[test]
fn only_a_cursor_as_described_is_accepted() {
    let (_server, client, document) = Document::with_server();
    for _ in 0..2 {
        client.add(&pet("listed")).send().is(201);
    }
    let schema = &document.at("/components/parameters/cursor")["schema"];
    let next = client.get("/v1/pets?limit=1").send().is(200).link("next").unwrap();
    let (_, cursor) = next.split_once("&cursor=").unwrap();
    document.fits(schema, &json!(cursor)).unwrap();
    client.get(&next).send().is(200);
    let longest = usize::try_from(integer(schema, "maxLength")).unwrap();
    for not_allowed in ["", "a.b", "a=", &"A".repeat(longest + 1)] {
        document.fits(schema, &json!(not_allowed)).unwrap_err();
        client.get(&format!("/v1/pets?cursor={not_allowed}")).send().refuses(400, "invalid_query");
    }
}
