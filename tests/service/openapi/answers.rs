//! The tests provoke every documented answer, and each provoked answer is as documented.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    document::Document,
    scenarios::{self, Scenario},
    stage::{Stage, TIMEOUT},
};
use crate::support::answer::Answer;

/// The answers that the scenarios have provoked.
#[derive(Default)]
struct Shown {
    statuses: BTreeSet<(String, u16)>,
    /// Operation, status and name.
    examples: BTreeSet<(String, u16, String)>,
    headers: BTreeSet<(String, u16, String)>,
}

#[test]
fn the_document_describes_every_answer_and_nothing_else() {
    let stage = Stage::set();
    let document = &stage.document;
    let mut shown = Shown::default();
    for scenario in scenarios::all() {
        let answer = (scenario.play)(&stage);
        let what = format!("{} {} {:?}", scenario.operation, scenario.status, scenario.example);
        if let Err(difference) = compare(document, &scenario, &answer) {
            panic!("{what}: {difference}\n{answer:?}");
        }
        shown.note(&scenario, &answer);
    }
    // No scenario can provoke a 500 of listOrders: only its key check can fail, and no built-in store reports all keys
    // as corrupt.
    shown.assume_alike(500, "listOrders", "listPets");
    // A 410 has `Sunset` only after the announced date, not in a rehearsal with `--get-pet-sunset now`.
    shown.headers.insert(("getPet".to_owned(), 410, "sunset".to_owned()));
    assert_eq!(document.statuses(), shown.statuses);
    let (mut examples, mut headers) = (BTreeSet::new(), BTreeSet::new());
    for (operation, status) in document.statuses() {
        let response = document.response(&operation, status).unwrap();
        let place = |name: &str| (operation.clone(), status, name.to_owned());
        examples.extend(document.examples(response).iter().map(|(name, _)| place(name)));
        headers.extend(document.headers(response).iter().map(|(name, _)| place(name)));
    }
    assert_eq!(examples, shown.examples);
    let unseen: Vec<_> = headers.difference(&shown.headers).collect();
    assert!(unseen.is_empty(), "documented but never sent: {unseen:?}");
}

impl Shown {
    /// Copies the answers of `other` with this status to `operation`, which cannot be made to return the status.
    fn assume_alike(&mut self, status: u16, operation: &str, other: &str) {
        assert!(
            self.statuses.insert((operation.to_owned(), status)),
            "a scenario provokes this status already"
        );
        for shown in [&mut self.examples, &mut self.headers] {
            let of_other =
                shown.iter().filter(|(id, code, _)| (id.as_str(), *code) == (other, status));
            let alike = of_other.map(|(_, _, name)| (operation.to_owned(), status, name.clone()));
            let alike: Vec<_> = alike.collect();
            shown.extend(alike);
        }
    }

    fn note(&mut self, scenario: &Scenario, answer: &Answer) {
        let place = |name: &str| (scenario.operation.to_owned(), scenario.status, name.to_owned());
        self.statuses.insert((scenario.operation.to_owned(), scenario.status));
        self.examples.extend(scenario.example.map(place));
        self.headers.extend(answer.headers.iter().map(|(name, _)| place(name)));
    }
}

fn compare(document: &Document, scenario: &Scenario, answer: &Answer) -> Result<(), String> {
    if answer.status != scenario.status {
        return Err("another status".to_owned());
    }
    let response = document.response(scenario.operation, scenario.status);
    let response = response.ok_or("the status is not documented")?;
    document.describes(response, answer)?;
    let Some(name) = scenario.example else { return Ok(()) };
    let examples = document.examples(response);
    let (_, example) =
        examples.iter().find(|(known, _)| *known == name).ok_or("no such example")?;
    let body: Value = serde_json::from_str(&answer.text().replace(TIMEOUT, "10s")).unwrap();
    if body == **example { Ok(()) } else { Err(format!("the example is {example}")) }
}

#[track_caller]
fn is_as_described(document: &Document, answer: &Answer) {
    let response = document.at(&format!("/x-other-responses/responses/{}", answer.status));
    if let Err(difference) = document.describes(response, answer) {
        panic!("{difference}: {answer:?}");
    }
}

#[test]
fn unknown_methods_and_paths_are_answered_as_described() {
    let (_server, client, document) = Document::with_server();
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
