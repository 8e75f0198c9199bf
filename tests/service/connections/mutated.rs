//! Mutated requests: no answer is a server error, except the 501 of listOrders. The service may close the connection
//! without an answer.
//!
//! By default, the test is short. `PETSTORE_TEST_REQUESTS` sets the number of requests, for example 1000000.

use std::{
    collections::BTreeMap,
    env,
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::Mutex,
    thread,
};

use petstore_testing::{Mutations, corpus};

use crate::support::{
    memory::memory as resident,
    server::Launch,
    store::{Kind, Store},
    wait,
};

/// The number of requests in the short form.
const REQUESTS: u64 = 4_000;
/// The number of clients at once. It is large, because refusals of a credential are delayed.
const CLIENTS: u64 = 40;
/// The growth in memory, in KiB, that is allowed after the first fifth of the requests. The service caches some lists.
/// The animals of valid requests are in a file, not in memory.
const MAX_GROWTH: u64 = 24 * 1024;
/// The number of rounds. Each round has new clients, and a measurement of the memory at its end.
const ROUNDS: u64 = 5;

/// The number of answers with each status; 0 stands for a connection that was closed without an answer.
type Statuses = BTreeMap<u16, u64>;

#[test]
fn no_mutated_request_fails_the_service_or_makes_it_grow() {
    let requests = env::var("PETSTORE_TEST_REQUESTS")
        .map_or(REQUESTS, |number| number.parse().expect("PETSTORE_TEST_REQUESTS is a number"));
    let store = Store::new(Kind::Sqlite);
    let server = Launch::on(&store).flag("--access-log", "off").start();
    let statuses = Mutex::<Statuses>::default();
    let mut memory = Vec::new();
    for round in 0..ROUNDS {
        send_all(server.address, round, requests / ROUNDS / CLIENTS, &statuses);
        memory.push(resident(&server));
    }
    let statuses = statuses.into_inner().unwrap();
    eprintln!("answers by status: {statuses:?}; memory in KiB: {memory:?}");
    for good in [0, 200, 201, 400, 401, 404, 405, 415] {
        assert!(statuses.contains_key(&good), "no request has the outcome {good}: {statuses:?}");
    }
    assert!(memory[4] < memory[0] + MAX_GROWTH, "the memory grew: {memory:?} KiB");
    assert_eq!(server.client().get("/readyz").send().status, 200);
    let log = server.stop();
    assert!(!log.contains("panicked"), "{log}");
}

fn send_all(address: SocketAddr, round: u64, requests: u64, statuses: &Mutex<Statuses>) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let seed = round * CLIENTS + client;
            let mut mutations = Mutations::with_seed(corpus("request"), seed);
            scope.spawn(move || {
                for _ in 0..requests {
                    for status in send(address, &mutations.next_input()) {
                        *statuses.lock().unwrap().entry(status).or_default() += 1;
                    }
                }
            });
        }
    });
}

/// Sends a request on a connection of its own. Returns the statuses of the answers.
fn send(address: SocketAddr, request: &[u8]) -> Vec<u16> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(wait::ANSWER)).unwrap();
    // The service may close the connection before it has read everything.
    let _ = stream.write_all(request).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answers = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answers) {
        let kind = error.kind();
        assert_eq!(kind, std::io::ErrorKind::ConnectionReset, "{}", request.escape_ascii());
    }
    // No body of an answer has a line that begins with `HTTP/1.`.
    let lines = answers.split(|byte| *byte == b'\n');
    let heads = lines.filter_map(|line| line.strip_prefix(b"HTTP/1.")?.get(2..5));
    let statuses: Vec<u16> =
        heads.map(|status| String::from_utf8_lossy(status).parse().unwrap()).collect();
    for status in &statuses {
        // 501 is the answer of listOrders.
        let is_expected = *status < 500 || *status == 501;
        assert!(is_expected, "{} -> {}", request.escape_ascii(), answers.escape_ascii());
    }
    if statuses.is_empty() { vec![0] } else { statuses }
}
