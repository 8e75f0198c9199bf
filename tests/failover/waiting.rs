//! The store cannot be reached when the service starts.

use petstore_testing::{Cluster, Durability, Etcd, needs};

use crate::support::{
    catalogue::{add, everything, pet},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Starts a service that waits for its store, and asserts that it refuses requests.
#[track_caller]
fn start(launch: Launch) -> Server {
    let server = launch.start();
    let client = server.client();
    client.get("/livez").anonymous().send().is(200);
    for _ in 0..3 {
        client.get("/readyz").anonymous().send().is(503).must("retry-after");
        client.get("/v1/pets").send().refuses(503, "unavailable");
        client.add(&pet("early")).send().refuses(503, "unavailable");
        let unknown = "pst_0000000000000000000000000000000000000K";
        client.get("/v1/pets").key(unknown).send();
    }
    server
}

/// Asserts that the service serves, and that its log contains each line about the wait once.
#[track_caller]
fn serves(server: Server) {
    let client = server.client();
    wait::until("the service is ready", || client.get("/readyz").anonymous().send().status == 200);
    let added = add(&client, &pet("late"));
    assert_eq!(everything(&client), [added]);
    let log = server.stop();
    for line in ["the store cannot be reached", "the store can be reached", "made a new store"] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

fn stopped_cluster() -> Cluster {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    cluster.sql("CREATE DATABASE zoo").unwrap();
    cluster.stop().unwrap();
    cluster
}

#[needs(postgres)]
#[test]
fn a_service_waits_for_a_database_server_that_starts_later() {
    let cluster = stopped_cluster();
    let server = start(Launch::on(&Store::at(&cluster.url("zoo"))));
    cluster.resume().unwrap();
    serves(server);
}

#[needs(postgres)]
#[test]
fn a_permanent_failure_ends_the_service_with_its_own_exit_code() {
    let cluster = stopped_cluster();
    let store = Store::at(&cluster.url("nowhere"));
    let mut waiting = start(Launch::on(&store));
    cluster.resume().unwrap();
    assert_eq!(waiting.exit(), Some(78));
    wait::until("the log has the reason", || {
        waiting.log().contains("create it with CREATE DATABASE")
    });
    Launch::on(&store).finish().fails(78, "create it with CREATE DATABASE");
}

#[needs(etcd)]
#[test]
fn a_service_waits_for_nodes_that_start_later() {
    let etcd = Etcd::prepare(1, None).unwrap();
    let url = format!("etcd://{}/zoo?call_timeout=1s", etcd.endpoints());
    let server = start(Launch::on(&Store::at(&url)));
    etcd.resume(0).unwrap();
    serves(server);
}
