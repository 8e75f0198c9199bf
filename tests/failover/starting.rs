//! Many instances start at once.

use std::{fs, thread};

use crate::support::{
    server::{Launch, Server},
    store::Store,
};

const INSTANCES: usize = 10;

#[test]
fn ten_instances_started_at_once_without_a_key_create_one_key() {
    let store = Store::sqlite();
    let servers: Vec<Server> = thread::scope(|scope| {
        let start = || Launch::without_key(&store).start();
        let threads: Vec<_> = (0..INSTANCES).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
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
