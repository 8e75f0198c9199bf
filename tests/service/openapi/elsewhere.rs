//! What the document says of requests that are no operation.

use std::collections::BTreeSet;

use super::document::Document;
use crate::support::{answer::Answer, rules, shared};

#[track_caller]
fn is_as_described(document: &Document, answer: &Answer) {
    let response = document.at(&format!("/x-other-responses/responses/{}", answer.status));
    if let Err(difference) = document.describes(response, answer) {
        panic!("{difference}: {answer:?}");
    }
}

#[test]
fn another_method_or_address_is_answered_as_described() {
    let client = shared::server().client();
    let document = Document::of(&client);
    let example = |status: u16| {
        let response = document.at(&format!("/x-other-responses/responses/{status}"));
        document.examples(response)[0].1.clone()
    };
    let nowhere = client.get("/v1/nothing").send();
    is_as_described(&document, &nowhere);
    assert_eq!(nowhere.json(), example(404));
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        let target = format!("/v1{}", path.replace("{petId}", "1"));
        let unlisted = ["get", "put", "post", "delete", "patch", "trace"].map(str::to_owned);
        for method in unlisted.into_iter().filter(|method| operations[method].is_null()) {
            let refusal = client.call(&method.to_uppercase(), &target).send().is(405);
            is_as_described(&document, &refusal);
            if path == "/pets" {
                assert_eq!(refusal.json(), example(405));
            }
        }
    }
}

#[test]
fn the_codes_of_the_document_are_those_of_its_examples() {
    let document = Document::of(&shared::server().client());
    let codes = &document.at("/components/schemas/Error/properties/code")["enum"];
    let codes: BTreeSet<_> =
        codes.as_array().unwrap().iter().filter_map(|code| code.as_str()).collect();
    let mut shown = BTreeSet::new();
    let mut note = |response| {
        for (name, example) in document.examples(response) {
            let Some(code) = example["code"].as_str() else { continue };
            let row = rules::CODES.iter().find(|(_, known)| *known == code);
            assert_eq!(
                row.map(|(status, _)| u64::from(*status)),
                example["status"].as_u64(),
                "{name}"
            );
            shown.insert(code);
        }
    };
    for (operation, status) in document.statuses() {
        note(document.response(&operation, status).unwrap());
    }
    document.at("/x-other-responses/responses").as_object().unwrap().values().for_each(&mut note);
    assert_eq!(codes, shown);
    let table = document.at("/components/schemas/Error/properties/code")["description"].as_str();
    for code in codes {
        let row = rules::CODES.iter().find(|(_, known)| *known == code).unwrap();
        let line = format!("\n| {} | `{code}` | ", row.0);
        assert!(table.unwrap().contains(&line), "{line}");
    }
}
