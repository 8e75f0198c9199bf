//! No identifier is assigned twice, not even after a kill or a deletion.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use crate::support::{
    catalogue::id_of,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
};

on_stores! {
    lasting:
    identifiers_continue_after_a_kill,
}

fn identifiers_continue_after_a_kill(kind: Kind) {
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
fn the_identifier_of_a_deleted_animal_is_not_assigned_again() {
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
