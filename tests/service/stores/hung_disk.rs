//! Reads from the disk that hang: other requests are served, the reads time out, and a stop does not wait for them.

use std::thread;

use crate::support::{
    catalogue::{add, pet},
    disk::Disk,
    raw::{Raw, head},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// Starts a server on a SQLite file. In memory, the server has only the database pages that its writer needs.
fn server(disk: &Disk, flags: &[(&str, &str)]) -> (Store, Server) {
    let store = Store::sqlite();
    let first = Launch::on(&store).start();
    for _ in 0..3 {
        add(&first.client(), &pet("before"));
    }
    first.stop();
    let server = Launch::on(&store).flags(flags).disk(disk).start();
    add(&server.client(), &pet("known to the writer"));
    (store, server)
}

/// Makes reads hang, sends more reads than there are processors, and waits until all of them hang.
fn hang(disk: &Disk, server: &Server) -> Vec<Raw> {
    disk.hang();
    let reads = 8 + thread::available_parallelism().unwrap().get();
    let targets = ["/v1/pets/1", "/v1/pets?status=sold", "/v1/pets?limit=2", "/readyz"];
    let connections = (0..reads).map(|number| {
        let mut raw = server.raw();
        raw.send(head("GET", targets[number % targets.len()], ""));
        raw
    });
    let connections = connections.collect();
    // Requests for readiness share one read.
    let shared = (0..reads).filter(|number| targets[number % targets.len()] == "/readyz").count();
    wait::until("the reads hang", || disk.hung_reads() > reads - shared);
    connections
}

#[petstore_testing::needs(time)]
#[test]
fn while_reads_hang_other_requests_are_served_and_a_stop_ends() {
    let disk = Disk::new();
    let flags = [("--request-timeout", "10m"), ("--shutdown-grace", "100ms")];
    let (_store, mut server) = server(&disk, &flags);
    let waiting = hang(&disk, &server);
    let client = server.client();
    for _ in 0..3 {
        for open in ["/livez", "/openapi.json"] {
            client.get(open).anonymous().send().is(200);
        }
        client.get("/v1/pets").anonymous().send().refuses(401, "unauthorized");
        client.get("/v1/nothing").send().refuses(404, "route_not_found");
        add(&client, &pet("written meanwhile"));
    }
    server.signal("TERM");
    assert_eq!(server.exit(), Some(0), "{}", server.log());
    let end = format!("connections were cut off\",\"connections\":{}}}", waiting.len());
    assert!(server.whole_log().contains(&end));
}

#[petstore_testing::needs(time)]
#[test]
fn a_hung_read_times_out_and_reads_work_once_the_disk_does() {
    let disk = Disk::new();
    let (_store, server) = server(&disk, &[("--request-timeout", "3s")]);
    for mut raw in hang(&disk, &server) {
        raw.answer("GET", "").refuses(503, "unavailable");
    }
    server.client().get("/readyz").send().refuses(503, "unavailable");
    disk.resume();
    wait::until("reads are answered", || server.client().get("/readyz").send().status == 200);
    assert_eq!(server.client().get("/v1/pets").send().is(200).json().as_array().unwrap().len(), 4);
}

/// The tokio worker that waits for sockets gets the request while no other worker is awake.
#[petstore_testing::needs(time)]
#[test]
fn a_hung_read_on_an_idle_service_does_not_block_sockets() {
    let disk = Disk::new();
    let (_store, server) = server(&disk, &[]);
    let mut connections = [server.raw(), server.raw()];
    for raw in &mut connections {
        raw.send(head("GET", "/livez", ""));
        raw.answer("GET", "/livez").is(200);
    }
    // After this time, all workers sleep.
    thread::sleep(std::time::Duration::from_millis(300));
    disk.hang();
    let [reading, other] = &mut connections;
    reading.send(head("GET", "/v1/pets/1", ""));
    wait::until("the read hangs", || disk.hung_reads() > 0);
    other.send(head("GET", "/livez", ""));
    other.answer("GET", "/livez").is(200);
}
