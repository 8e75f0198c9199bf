//! The document by itself: its references, components, examples and error codes, and the command that prints it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::Document;
use crate::support::{
    command::petstore,
    rules::{INTERFACE, codes},
    server::Launch,
    store::Store,
};

/// Collects every object of the document.
fn objects<'d>(value: &'d Value, found: &mut Vec<&'d Value>) {
    match value {
        Value::Object(fields) => {
            found.push(value);
            fields.values().for_each(|field| objects(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let document = Document::served();
    let mut found = Vec::new();
    objects(&document.0, &mut found);
    let references: Vec<_> = found.iter().filter_map(|object| object["$ref"].as_str()).collect();
    assert!(references.len() > 100);
    for reference in &references {
        document.at(&reference[1..]);
    }
    let kinds = document.0["components"].as_object().unwrap().iter();
    for (kind, components) in kinds.filter(|(kind, _)| *kind != "securitySchemes") {
        for name in components.as_object().unwrap().keys() {
            let place = format!("#/components/{kind}/{name}");
            assert!(references.contains(&place.as_str()), "{place} is not used");
        }
    }
}

#[test]
fn every_example_matches_its_schema() {
    let document = Document::served();
    let mut found = Vec::new();
    objects(&document.0, &mut found);
    let mut seen = 0;
    for object in found {
        let Some(schema) = object.get("schema") else { continue };
        let named = object["examples"].as_object().into_iter().flatten();
        let named = named.map(|(_, example)| &document.follow(example)["value"]);
        for example in named.chain(object.get("example")) {
            document.fits(schema, example).unwrap();
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} examples");
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
    let document = Document::served();
    let shown = examples(&document);
    let code = document.at("/components/schemas/Error/properties/code");
    let listed: BTreeSet<_> =
        code["enum"].as_array().unwrap().iter().filter_map(|code| code.as_str()).collect();
    assert_eq!(shown.iter().map(|(_, code)| *code).collect::<BTreeSet<_>>(), listed);
    assert_eq!(codes(code["description"].as_str().unwrap()), shown);
    assert_eq!(codes(INTERFACE), shown);
}

#[test]
fn the_command_prints_what_the_service_serves() {
    let flags = [("--environment", "blue \"green\""), ("--public-url", "https://pets.example/v1")];
    let words: Vec<_> = flags.iter().flat_map(|(flag, value)| [*flag, *value]).collect();
    let printed = petstore(&[&["openapi"], &words[..]].concat()).finish().succeeds();
    let server = Launch::on(&Store::memory()).flags(&flags).start();
    let answer = server.client().get("/openapi.json").anonymous().send().is(200);
    assert_eq!(answer.text(), printed);
    let run = petstore(&["openapi"]).env("PETSTORE_PUBLIC_URL", "https://pets.example/v1");
    assert!(run.finish().succeeds().contains("\"https://pets.example/v1\""));
    petstore(&["openapi", "--public-url", "pets.example/v1"]).finish().fails(2, "--public-url");
}
