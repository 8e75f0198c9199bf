//! Many instances start at once.

use std::{fs, thread};

use petstore_testing::needs;

use crate::support::{
    catalogue::{add, everything, pet},
    server::{Launch, Server},
    store::Store,
};

const INSTANCES: usize = 10;

fn start_all(launch: impl Fn() -> Launch + Sync) -> Vec<Server> {
    thread::scope(|scope| {
        let start = || launch().start();
        let threads: Vec<_> = (0..INSTANCES).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[needs(postgres)]
#[test]
fn ten_instances_that_start_on_an_empty_database_all_serve() {
    let store = Store::postgres();
    let servers = start_all(|| Launch::on(&store));
    let clients: Vec<_> = servers.iter().map(Server::client).collect();
    for (number, client) in clients.iter().enumerate() {
        client.get("/readyz").anonymous().send().is(200);
        add(client, &pet(&format!("from {number}")));
    }
    let all = everything(&clients[0]);
    assert_eq!(all.len(), INSTANCES);
    for client in &clients {
        assert_eq!(everything(client), all);
    }
}

#[test]
fn ten_instances_that_start_without_a_key_make_one() {
    let store = Store::sqlite();
    let servers = start_all(|| Launch::without_key(&store));
    let key = fs::read_to_string(store.folder().join("petstore.db.key")).unwrap();
    for server in &servers {
        server.client().get("/v1/pets").key(key.trim_end()).send().is(200);
    }
    let listed = store.keys(&["list"]).succeeds();
    assert_eq!(listed.matches("default").count(), 1, "{listed}");
    let logs: String = servers.into_iter().map(Server::stop).collect();
    assert_eq!(logs.matches("petstore.db.key").count(), 1, "{logs}");
    assert!(!logs.contains("no API key is live"), "{logs}");
}
