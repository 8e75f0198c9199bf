//! `Idempotency-Key`: an animal is added at most once.

use std::{collections::HashSet, thread, time::Duration};

use crate::support::{
    answer::Answer,
    catalogue::{self, everything, id_of, pet},
    client::{Call, Client},
    raw,
    server::{Launch, Server},
    store::{Kind, on_stores},
    wait,
};

on_stores! {
    lasting:
    a_repeat_gets_the_first_answer_after_the_animal_was_deleted_or_changed,
    a_retry_after_a_lost_answer_adds_no_second_animal,
}

/// The number of lost answers.
const LOST: usize = 80;

fn add(client: &Client, name: &str, key: &str) -> Call {
    client.add(&pet(name)).header("idempotency-key", key)
}

#[track_caller]
fn is_replay(answer: &Answer, first: &Answer) {
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.must("idempotency-replayed"), "true");
    assert_eq!(answer.body, first.body);
    assert_eq!(answer.must("location"), first.must("location"));
}

fn a_repeat_gets_the_first_answer_after_the_animal_was_deleted_or_changed(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let [deleted, changed] = ["Deleted", "Changed"].map(|name| {
        let first = add(&client, name, name).send().is(201);
        (name, id_of(&first.json()), first)
    });
    store.delete_pet(deleted.1);
    store.rename_pet(changed.1, "Changed", "Another");
    let shown = |id: i64| client.get(&format!("/v1/pets/{id}")).send();
    wait::until("the changes show", || {
        shown(deleted.1).status == 404 && shown(changed.1).json()["name"] == "Another"
    });
    let repeats = |client: &Client| {
        for (name, id, first) in [&deleted, &changed] {
            is_replay(&add(client, name, name).send(), first);
            let other = client.add(&pet("Other")).header("idempotency-key", name);
            other.send().refuses(422, "idempotency_key_reused");
            assert_eq!(id_of(&first.json()), *id);
        }
    };
    repeats(&client);
    server.stop();
    let server = Launch::on(&store).start();
    repeats(&server.client());
    assert!(id_of(&catalogue::add(&server.client(), &pet("Next"))) > changed.1);
}

/// Adds an animal, disconnects before the answer, and adds it again. Returns whether the first request added it.
fn lose_the_answer(server: &Server, client: &Client, number: usize) -> bool {
    let (name, key) = (format!("Rex {number}"), format!("lost-{number}"));
    let body = pet(&name).to_string();
    let more = format!(
        "content-type: application/json\r\ncontent-length: {}\r\nidempotency-key: {key}\r\n",
        body.len()
    );
    let mut lost = server.raw();
    lost.send(raw::head("POST", "/v1/pets", &more) + body.as_str());
    // The connection ends before the request is read, while it is handled, or while its answer is sent.
    thread::sleep(Duration::from_micros(400) * u32::try_from(number % 10).unwrap());
    drop(lost);
    let answer = add(client, &name, &key).send().is(201);
    answer.header("idempotency-replayed").is_some()
}

fn a_retry_after_a_lost_answer_adds_no_second_animal(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let client = server.client();
    let replayed: usize = thread::scope(|scope| {
        let some = |first: usize| {
            let numbers = (first..LOST).step_by(4);
            numbers.filter(|number| lose_the_answer(&server, &client, *number)).count()
        };
        let threads: Vec<_> = (0..4).map(|first| scope.spawn(move || some(first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_ne!(replayed, 0, "no first request had added its animal");
    let animals = everything(&client);
    let names: HashSet<_> = animals.iter().map(|pet| pet["name"].as_str().unwrap()).collect();
    assert_eq!((animals.len(), names.len()), (LOST, LOST));
}
