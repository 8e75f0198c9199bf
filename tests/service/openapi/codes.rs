//! All lists of the error codes are equal.

use std::collections::BTreeSet;

use super::document::Document;
use crate::support::rules::{INTERFACE, codes};

/// Returns status and code of each example of an error.
fn examples(document: &Document) -> BTreeSet<(u16, &str)> {
    let statuses = document.statuses();
    let responses = statuses.iter().filter_map(|(id, status)| document.response(id, *status));
    let others = document.at("/x-other-responses/responses").as_object().unwrap().values();
    let examples = responses.chain(others).flat_map(|response| document.examples(response));
    let errors = examples.filter_map(|(_, example)| {
        let status = u16::try_from(example["status"].as_u64()?).unwrap();
        Some((status, example["code"].as_str()?))
    });
    errors.collect()
}

#[test]
fn every_list_of_the_error_codes_is_the_same() {
    let document = Document::served();
    let shown = examples(&document);
    let code = document.at("/components/schemas/Error/properties/code");
    let listed: BTreeSet<_> =
        code["enum"].as_array().unwrap().iter().filter_map(|code| code.as_str()).collect();
    assert_eq!(shown.iter().map(|(_, code)| *code).collect::<BTreeSet<_>>(), listed);
    assert_eq!(codes(code["description"].as_str().unwrap()), shown);
    assert_eq!(codes(INTERFACE), shown);
}
