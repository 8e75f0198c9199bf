//! Stops under load. The service answers each request on a connection that was open before the signal. It ends within
//! the shutdown grace, whatever its clients do.
//!
//! `PETSTORE_TEST_CRASHES=long` runs 100 stops.

use std::{
    io::{self, ErrorKind::BrokenPipe},
    net::SocketAddr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use petstore_testing::needs;

use crate::{
    crash::crashes,
    support::{
        catalogue::pet,
        client::Client,
        frames::{
            END_HEADERS, END_STREAM, Frames, HEADERS, PING, SETTINGS, frame, request as h2_head,
        },
        raw::{Raw, head, post},
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

/// The number of clients of each kind.
const CLIENTS: usize = 4;
/// The number of answers before the stop.
const LOAD: usize = 100;
/// The number of requests that are sent without waiting for answers.
const PIPELINED: usize = 5;

/// The answers that the clients of one stop saw.
#[derive(Default)]
struct Answers {
    /// The number of complete answers.
    whole: AtomicUsize,
    /// Becomes `true` just before the signal is sent.
    is_stopping: AtomicBool,
}

/// A client's connection.
struct Connection {
    raw: Raw,
    /// `true` if the connection may be newer than the signal and has no answer yet. The service may reset it.
    may_be_reset: bool,
}

/// Returns the request with this number. Three kinds of request take turns.
fn request(number: usize) -> String {
    match number % 3 {
        0 => head("GET", "/v1/pets?limit=2", ""),
        1 => post(&pet("stopping").to_string()),
        _ => head("GET", "/livez", ""),
    }
}

impl Answers {
    /// Sends all requests together and reads their answers. Returns whether the connection stays open.
    ///
    /// The service does not process requests behind an answer with `Connection: close` (RFC 9112, section 9.6).
    fn exchange(&self, connection: &mut Connection, requests: &[String]) -> bool {
        let Connection { raw, may_be_reset } = connection;
        let is_sent = raw.try_send(requests.concat(), wait::LIMIT);
        for number in 0..requests.len() {
            // The service may close the connection before it has read all requests.
            let closed = || io::Error::from(BrokenPipe);
            let answer = match is_sent.then(|| raw.try_answer(false)).ok_or_else(closed).flatten() {
                Ok(answer) => answer,
                Err(_) if *may_be_reset => return false,
                Err(error) => {
                    let before = self.whole.load(Ordering::SeqCst);
                    panic!("request {number} was not answered, after {before} answers: {error}");
                }
            };
            *may_be_reset = false;
            assert!([200, 201].contains(&answer.status), "{answer:?}");
            self.whole.fetch_add(1, Ordering::SeqCst);
            if answer.header("connection") == Some("close") {
                return false;
            }
        }
        true
    }

    /// Sends `at_once` requests at a time until the service refuses connections. With `once`, makes a new connection
    /// each time. Otherwise, uses a connection until the service closes it.
    fn send(&self, address: SocketAddr, at_once: usize, once: bool) {
        let mut number = 0;
        while let Ok(raw) = Raw::try_to(address) {
            let may_be_reset = self.is_stopping.load(Ordering::SeqCst);
            let mut connection = Connection { raw, may_be_reset };
            loop {
                let requests: Vec<_> = (number..number + at_once).map(request).collect();
                number += at_once;
                if !self.exchange(&mut connection, &requests) || once {
                    break;
                }
            }
        }
    }

    /// Sends requests over HTTP/2, on the client's connection to this server.
    fn stay_http2(&self, client: &Client) {
        loop {
            match client.add(&pet("stopping")).try_send() {
                Ok(answer) => drop(answer.is(201)),
                Err(error) if error.is_connect() => return,
                // The connection may be newer than the signal.
                Err(error) if self.is_stopping.load(Ordering::SeqCst) && is_reset(&error) => return,
                Err(error) => panic!("a stream was not answered: {error:?}"),
            }
            self.whole.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns whether the operating system of the service has reset the connection.
fn is_reset(error: &reqwest::Error) -> bool {
    let error = format!("{error:?}");
    ["ConnectionReset", "BrokenPipe"].iter().any(|kind| error.contains(kind))
}

#[test]
fn a_stop_under_load_leaves_no_request_unanswered() {
    for _ in 0..crashes(3, 100) {
        let store = Store::sqlite();
        let server = Launch::on(&store).start();
        let (address, http2) = (server.address, server.http2());
        let answers = Answers::default();
        thread::scope(|scope| {
            // A failed test drops the server within the scope, which ends the clients.
            let mut server = server;
            let clients = [(); CLIENTS].map(|()| {
                [
                    scope.spawn(|| answers.send(address, 1, true)),
                    scope.spawn(|| answers.send(address, 1, false)),
                    scope.spawn(|| answers.send(address, PIPELINED, false)),
                    scope.spawn(|| answers.stay_http2(&http2)),
                ]
            });
            wait::until("the clients have enough answers", || {
                assert!(!clients.iter().flatten().any(ScopedJoinHandle::is_finished));
                answers.whole.load(Ordering::SeqCst) >= LOAD
            });
            answers.is_stopping.store(true, Ordering::SeqCst);
            server.signal("TERM");
            assert_eq!(server.exit(), Some(0), "{}", server.log());
            let log = server.whole_log();
            assert!(log.contains("every request was answered"), "{log}");
        });
    }
}

/// At the signal, the service has not yet accepted twenty connections, each with a request.
#[test]
fn requests_in_the_accept_queue_are_answered() {
    let store = Store::memory();
    let mut server = Launch::on(&store).flag("--max-connections", "1").start();
    let mut first = server.raw();
    first.send(head("GET", "/livez", ""));
    first.answer("GET", "/livez").is(200);
    let mut waiting: Vec<Raw> = (0..20).map(|_| server.raw()).collect();
    for raw in &mut waiting {
        raw.send(head("GET", "/livez", "connection: close\r\n"));
    }
    server.signal("TERM");
    for raw in &mut waiting {
        raw.answer("GET", "/livez").is(200);
    }
    assert_eq!(server.exit(), Some(0), "{}", server.log());
}

/// Makes clients that stop in the middle of a request, each at another point.
fn stuck(server: &Server) -> Vec<Raw> {
    let whole = post(&pet("stuck").to_string());
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let starts = ["", "GET /livez HT", &whole[..whole.len() - 3], &preface[..10], preface];
    let mut clients: Vec<Raw> = (0..starts.len()).map(|_| server.raw()).collect();
    for (raw, start) in clients.iter_mut().zip(starts) {
        raw.send(start);
    }
    // The client requests more bytes than all buffers hold, and reads none of them.
    let mut deaf = server.raw();
    deaf.try_send(head("GET", "/openapi.json", "").repeat(2000), Duration::from_secs(1));
    clients.push(deaf);
    clients
}

#[needs(quiet)]
#[test]
fn a_stop_ends_within_the_grace_whatever_clients_do() {
    let store = Store::sqlite();
    let flags = [
        "--header-timeout",
        "--idle-timeout",
        "--body-timeout",
        "--request-timeout",
        "--write-timeout",
    ];
    let launch = flags.iter().fold(Launch::on(&store), |launch, flag| launch.flag(flag, "10m"));
    let mut server = launch.flag("--shutdown-grace", "2s").start();
    let clients = stuck(&server);
    server.client().get("/livez").send().is(200);
    server.signal("TERM");
    let began = Instant::now();
    assert_eq!(server.exit(), Some(0), "{}", server.log());
    // The grace of 2 s, and one second to close the store.
    let took = began.elapsed();
    assert!(took <= Duration::from_secs(3), "the stop took {took:.2?}");
    drop(clients);
}

/// HTTP/2 clients that send one kind of frame forever: some before their first request, some after it.
#[test]
fn a_stop_does_not_wait_for_clients_with_only_control_frames() {
    const GRACE: Duration = Duration::from_secs(100);
    let store = Store::memory();
    let mut server = Launch::on(&store).flag("--shutdown-grace", "100s").start();
    let get = frame(HEADERS, END_HEADERS | END_STREAM, 1, &h2_head("GET", "/livez"));
    for (kind, payload) in [(PING, &[7; 8][..]), (SETTINGS, &[])] {
        for start in [&[][..], &get] {
            let mut frames = Frames::to(&server);
            frames.discard_answers();
            frames.send(start);
            // The thread ends when the service closes the connection.
            thread::spawn(move || {
                while frames.send(&frame(kind, 0, 0, payload)) {
                    thread::sleep(Duration::from_millis(10));
                }
            });
        }
    }
    server.client().get("/livez").send().is(200);
    server.signal("TERM");
    let began = Instant::now();
    assert_eq!(server.exit(), Some(0), "{}", server.log());
    assert!(began.elapsed() < GRACE / 2, "the stop took {:?}", began.elapsed());
    let log = server.whole_log();
    assert!(log.contains("every request was answered"), "{log}");
}
