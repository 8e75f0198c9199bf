//! Answers to requests that match no operation.

use super::document::Document;
use crate::support::{answer::Answer, server::Server};

#[track_caller]
fn is_as_described(document: &Document, answer: &Answer) {
    let response = document.at(&format!("/x-other-responses/responses/{}", answer.status));
    if let Err(difference) = document.describes(response, answer) {
        panic!("{difference}: {answer:?}");
    }
}

#[test]
fn unknown_methods_and_paths_are_answered_as_described() {
    let server = Server::in_memory();
    let client = server.client();
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
