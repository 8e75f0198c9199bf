//! The document by itself: its references, its components, its examples, and its marks of stability.

use serde_json::Value;

use super::document::Document;

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

#[test]
fn stability_and_deprecation_are_marked() {
    let document = Document::served();
    let get_pet = document.at("/paths/~1pets~1{petId}/get");
    assert_eq!(
        (&get_pet["deprecated"], &get_pet["x-deprecated-sunset"]),
        (&true.into(), &"2030-12-05".into())
    );
    let orders = document.at("/paths/~1store~1orders/get");
    assert_eq!(
        (&orders["x-stability"], &orders["x-hideTryItPanel"]),
        (&"experimental".into(), &true.into())
    );
    for place in ["parameters/cursor", "parameters/Idempotency-Key", "headers/ETag"] {
        assert_eq!(document.at(&format!("/components/{place}"))["x-stability"], "beta", "{place}");
    }
    assert_eq!(document.0["info"]["version"], "1.0.0");
}
