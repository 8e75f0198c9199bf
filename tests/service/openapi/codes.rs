//! All lists of the error codes are equal.

use std::collections::BTreeSet;

use super::document::Document;
use crate::support::{rules, shared};

const INTERFACE: &str = include_str!("../../../docs/INTERFACE.md");

/// Returns status and code of each row of a table of errors.
fn rows(table: &str) -> BTreeSet<(u16, &str)> {
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | `"));
    cells
        .filter_map(|(status, rest)| Some((status.parse().ok()?, rest.split_once("` | ")?.0)))
        .collect()
}

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
    let document = Document::of(&shared::server().client());
    let shown = examples(&document);
    let code = document.at("/components/schemas/Error/properties/code");
    let listed: BTreeSet<_> =
        code["enum"].as_array().unwrap().iter().filter_map(|code| code.as_str()).collect();
    assert_eq!(shown.iter().map(|(_, code)| *code).collect::<BTreeSet<_>>(), listed);
    assert_eq!(rows(code["description"].as_str().unwrap()), shown);
    assert_eq!(rows(INTERFACE), shown);
    assert!(shown.iter().all(|row| rules::CODES.contains(row)), "{shown:?}");
}
