//! What was acknowledged is there, whatever happens to the process.

use std::{
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::json;

use crate::support::{
    additions::{Addition, everything_is_there},
    catalogue::id_of,
    client::Client,
    server::{Launch, Server},
    store::{Kind, Store, on_lasting_stores},
    wait,
};

on_lasting_stores! {
    a_killed_server_has_kept_every_acknowledged_animal_once,
    identifiers_go_on_after_a_kill,
}

const WRITERS: usize = 4;
const ROUNDS: usize = 3;
/// The server dies after so many additions.
const LOAD: usize = 150;

fn a_killed_server_has_kept_every_acknowledged_animal_once(kind: Kind) {
    let store = Store::new(kind);
    let mut additions: Vec<Addition> = Vec::new();
    for round in 0..ROUNDS {
        let mut server = Launch::on(&store).start();
        additions.extend(write_until_killed(&mut server, round));
        let server = Launch::on(&store).start();
        everything_is_there(&server.client(), &additions);
        keys_are_replayed(&server.client(), &mut additions);
        everything_is_there(&server.client(), &additions);
        server.stop();
    }
    assert!(additions.len() >= ROUNDS * LOAD, "{}", additions.len());
}

/// Half of the writers with idempotency keys. The server dies in the middle.
fn write_until_killed(server: &mut Server, round: usize) -> Vec<Addition> {
    let additions = Mutex::new(Vec::new());
    let client = server.client();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (client, additions) = (&client, &additions);
            scope.spawn(move || {
                let name = |n: usize| format!("r{round} w{writer} n{n}");
                for addition in (0..).map(|n| write(client, &name(n), writer % 2 == 0, n)) {
                    let gone = addition.acknowledged.is_none();
                    additions.lock().unwrap().push(addition);
                    if gone {
                        break;
                    }
                }
            });
        }
        // Whatever happens: without the kill the writers would never end.
        let start = Instant::now();
        while additions.lock().unwrap().len() < LOAD && start.elapsed() < wait::LIMIT {
            thread::sleep(Duration::from_millis(5));
        }
        server.kill();
    });
    additions.into_inner().unwrap()
}

fn write(client: &Client, name: &str, with_key: bool, n: usize) -> Addition {
    let mut addition = Addition::new(name, n, with_key);
    let answer = addition.call(client).try_send().ok();
    addition.acknowledged = answer.map(|answer| answer.is(201).json());
    addition
}

/// Sends every request that has a key again, as a client would that does not know what happened.
fn keys_are_replayed(client: &Client, additions: &mut [Addition]) {
    for addition in additions {
        if addition.key.is_none() {
            continue;
        }
        let answer = addition.call(client).send().is(201);
        if let Some(before) = &addition.acknowledged {
            assert_eq!(answer.must("idempotency-replayed"), "true");
            assert_eq!(&answer.json(), before);
        }
        addition.acknowledged = Some(answer.json());
    }
}

fn identifiers_go_on_after_a_kill(kind: Kind) {
    let store = Store::new(kind);
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
