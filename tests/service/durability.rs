//! What was acknowledged is there, whatever happens to the process.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{
    catalogue::{STATUSES, everything, id_of},
    client::Client,
    server::{Launch, Server},
    store::Store,
    wait,
};

/// One addition that a writer tried.
struct Attempt {
    pet: Value,
    key: Option<String>,
    /// The animal as it came back; `None` if the server was gone before it did.
    acknowledged: Option<Value>,
}

const WRITERS: usize = 4;
const ROUNDS: usize = 3;
/// The server dies after so many additions.
const LOAD: usize = 150;

#[test]
fn a_killed_server_has_kept_every_acknowledged_animal_once() {
    let store = Store::lasting();
    let mut attempts: Vec<Attempt> = Vec::new();
    for round in 0..ROUNDS {
        let mut server = Launch::on(&store).start();
        attempts.extend(write_until_killed(&mut server, round));
        let server = Launch::on(&store).start();
        everything_is_there(&server.client(), &attempts);
        keys_are_replayed(&server.client(), &mut attempts);
        everything_is_there(&server.client(), &attempts);
        server.stop();
    }
    assert!(attempts.len() >= ROUNDS * LOAD, "{}", attempts.len());
}

/// Half of the writers with idempotency keys. The server dies in the middle.
fn write_until_killed(server: &mut Server, round: usize) -> Vec<Attempt> {
    let attempts = Mutex::new(Vec::new());
    let client = server.client();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (client, attempts) = (&client, &attempts);
            scope.spawn(move || {
                let name = |n: usize| format!("r{round} w{writer} n{n}");
                for attempt in (0..).map(|n| write(client, &name(n), writer % 2 == 0, n)) {
                    let gone = attempt.acknowledged.is_none();
                    attempts.lock().unwrap().push(attempt);
                    if gone {
                        break;
                    }
                }
            });
        }
        // Whatever happens: without the kill the writers would never end.
        let start = Instant::now();
        while attempts.lock().unwrap().len() < LOAD && start.elapsed() < wait::PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        server.kill();
    });
    attempts.into_inner().unwrap()
}

fn write(client: &Client, name: &str, with_key: bool, n: usize) -> Attempt {
    let mut pet = json!({"name": name, "categoryId": n});
    if let Some(status) = STATUSES.get(n % 4) {
        pet["status"] = (*status).into();
    }
    let key = with_key.then(|| name.replace(' ', "-"));
    let mut call = client.add(&pet);
    if let Some(key) = &key {
        call = call.header("idempotency-key", key);
    }
    let acknowledged = call.try_send().ok().map(|answer| answer.is(201).json());
    Attempt { pet, key, acknowledged }
}

#[track_caller]
fn everything_is_there(client: &Client, attempts: &[Attempt]) {
    let all = everything(client);
    let ids: HashSet<i64> = all.iter().map(id_of).collect();
    assert_eq!(ids.len(), all.len(), "an identifier is there twice");
    let mut by_name: HashMap<&str, Vec<&Value>> = HashMap::new();
    for pet in &all {
        by_name.entry(pet["name"].as_str().unwrap()).or_default().push(pet);
    }
    for attempt in attempts {
        let found = by_name.remove(attempt.pet["name"].as_str().unwrap()).unwrap_or_default();
        match &attempt.acknowledged {
            Some(pet) => assert_eq!(found, [pet]),
            None => assert!(found.len() <= 1, "{found:?}"),
        }
        for pet in found {
            let mut expected = attempt.pet.clone();
            expected["id"] = pet["id"].clone();
            assert_eq!(pet, &expected);
        }
    }
    assert!(by_name.is_empty(), "nobody added {by_name:?}");
}

/// Sends every request that has a key again, as a client would that does not know what happened.
fn keys_are_replayed(client: &Client, attempts: &mut [Attempt]) {
    for attempt in attempts {
        let Some(key) = &attempt.key else { continue };
        let answer = client.add(&attempt.pet).header("idempotency-key", key).send().is(201);
        if let Some(before) = &attempt.acknowledged {
            assert_eq!(answer.must("idempotency-replayed"), "true");
            assert_eq!(&answer.json(), before);
        }
        attempt.acknowledged = Some(answer.json());
    }
}

#[test]
fn identifiers_go_on_after_a_kill() {
    let store = Store::lasting();
    let mut greatest = 0;
    for _ in 0..3 {
        let mut server = Launch::on(&store).start();
        for n in 0..3 {
            let pet = json!({"name": format!("n{n}"), "categoryId": 1});
            let id = id_of(&server.client().add(&pet).send().is(201).json());
            assert!(id > greatest);
            greatest = id;
        }
        server.kill();
    }
}

#[test]
fn the_identifier_of_an_animal_that_is_gone_is_not_given_again() {
    let (store, server) = Server::on_file();
    let add = |server: &Server| {
        let pet = json!({"name": "last", "categoryId": 1});
        id_of(&server.client().add(&pet).send().is(201).json())
    };
    add(&server);
    let last = add(&server);
    let operator = Connection::open(store.file()).unwrap();
    operator.busy_timeout(Duration::from_secs(10)).unwrap();
    operator.execute("DELETE FROM pet WHERE id = ?1", [last]).unwrap();
    drop(operator);
    server.stop();
    assert!(add(&Launch::on(&store).start()) > last);
}
