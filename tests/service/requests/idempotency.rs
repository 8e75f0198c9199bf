//! `Idempotency-Key`: an animal is added at most once.

use std::{collections::HashSet, fs, thread, time::Duration};

use serde_json::json;

use crate::support::{
    answer::Answer,
    catalogue::{self, everything, id_of, pet},
    client::{Call, Client},
    raw,
    server::{Launch, Server},
    shared,
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    every:
    a_repeat_gets_the_first_answer_and_adds_nothing,
    equal_requests_at_once_add_one_animal,
}

on_stores! {
    lasting:
    a_repeat_gets_the_first_answer_after_the_animal_was_deleted_or_changed,
    lost_answers_that_are_repeated_are_one_animal_each,
}

/// The number of lost answers.
const LOST: usize = 1000;

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

fn count(client: &Client, name: &str) -> usize {
    everything(client).iter().filter(|pet| pet["name"] == name).count()
}

fn a_repeat_gets_the_first_answer_and_adds_nothing(kind: Kind) {
    let server = shared::server_on(kind);
    let client = server.client();
    let name = format!("repeat of {}", server.pid());
    let first = add(&client, &name, &name.replace(' ', "-")).send().is(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    for client in [server.client(), server.http2()] {
        is_replay(&add(&client, &name, &name.replace(' ', "-")).send(), &first);
    }
    assert_eq!(count(&client, &name), 1);
}

#[test]
fn an_equal_animal_in_another_notation_is_a_repeat() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    let post = |body: &str| client.post("/v1/pets", body).header("idempotency-key", "k").send();
    let first = post(r#"{"name":"Rex","categoryId":1,"status":"sold"}"#).is(201);
    is_replay(&post(r#" {"status": "sold", "categoryId": 1.0, "name": "\u0052ex"} "#), &first);
    for other in [
        r#"{"name":"rex","categoryId":1,"status":"sold"}"#,
        r#"{"name":"Rex","categoryId":2,"status":"sold"}"#,
        r#"{"name":"Rex","categoryId":1,"status":"pending"}"#,
        r#"{"name":"Rex","categoryId":1}"#,
    ] {
        post(other).refuses(422, "idempotency_key_reused");
    }
    assert_eq!(everything(&client).len(), 1);
    is_replay(&post(r#"{"name":"Rex","categoryId":1,"status":"sold"}"#), &first);
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

#[test]
fn the_key_of_a_client_is_not_in_the_store() {
    let (store, server) = Server::on_file();
    let name = "Rex Shown";
    add(&server.client(), name, "hidden-in-the-store").send().is(201);
    let content = || -> Vec<u8> {
        let files = fs::read_dir(store.folder()).unwrap();
        files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    };
    let holds = |text: &str| {
        content().windows(text.len()).any(|part| part.eq_ignore_ascii_case(text.as_bytes()))
    };
    // Until the server ends, the last changes are in the write-ahead log.
    assert!(holds(name) && !holds("hidden-in-the-store"));
    server.stop();
    assert!(holds(name) && !holds("hidden-in-the-store"));
}

fn equal_requests_at_once_add_one_animal(kind: Kind) {
    // Two instances on one store; one instance on a store in memory.
    let store = Store::new(kind);
    let instances = if kind == Kind::Memory { 1 } else { 2 };
    let servers: Vec<_> = (0..instances).map(|_| Launch::on(&store).start()).collect();
    let send = |n: usize| add(&servers[n % instances].client(), "race", "k").send().is(201);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let send = &send;
        let threads: Vec<_> = (0..64).map(|n| scope.spawn(move || send(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let client = servers[0].client();
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    let first = |answer: &&Answer| answer.header("idempotency-replayed").is_none();
    assert_eq!(answers.iter().filter(first).count(), 1);
    assert_eq!(everything(&client).len(), 1);
}

#[test]
fn a_race_of_two_bodies_has_one_winner() {
    let (_store, server) = Server::start(Kind::Sqlite);
    let client = server.client();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let client = &client;
        let send = |n: i32| {
            let body = json!({"name": "race", "categoryId": n % 2});
            client.add(&body).header("idempotency-key", "k").send().status
        };
        let threads: Vec<_> = (0..16).map(|n| scope.spawn(move || send(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 8, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 8, "{statuses:?}");
    assert_eq!(everything(&client).len(), 1);
}

/// Adds an animal, leaves before the answer, and adds the animal again. Returns whether the first request had added
/// it.
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

fn lost_answers_that_are_repeated_are_one_animal_each(kind: Kind) {
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
    assert_ne!(replayed, 0, "no animal was added whose answer was lost");
    let animals = everything(&client);
    let names: HashSet<_> = animals.iter().map(|pet| pet["name"].as_str().unwrap()).collect();
    assert_eq!((animals.len(), names.len()), (LOST, LOST));
}
