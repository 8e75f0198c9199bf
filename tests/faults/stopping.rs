//! Stops under load: each request on a connection that was made before the signal is answered, and the stop
//! ends within the grace whatever clients do.
//!
//! `PETSTORE_TEST_CRASHES=long` makes it 100 stops.

use std::{
    error::Error,
    io::{
        self,
        ErrorKind::{BrokenPipe, ConnectionReset},
    },
    net::SocketAddr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use petstore_testing::{EndOnDrop, needs};

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

/// Clients of each kind.
const CLIENTS: usize = 4;
/// The service is stopped after so many answers.
const LOAD: usize = 300;
/// Requests that are sent without waiting for answers.
const PIPELINED: usize = 5;

/// The answers that the clients of one stop saw.
#[derive(Default)]
struct Answers {
    whole: AtomicUsize,
    /// `true` if the signal is about to be sent, or was sent.
    is_stopping: AtomicBool,
}

/// A client's connection.
struct Connection {
    raw: Raw,
    /// Made after the signal, perhaps, and nothing was answered on it: it may be reset.
    may_be_reset: bool,
}

/// A request, never the same as the one before.
fn request(number: usize) -> String {
    match number % 3 {
        0 => head("GET", "/v1/pets?limit=2", ""),
        1 => post(&pet("stopping").to_string()),
        _ => head("GET", "/livez", ""),
    }
}

impl Answers {
    /// Sends requests at once and reads their answers: whether the connection goes on.
    ///
    /// What was sent behind an answer with `Connection: close` is not done, as the client knows (RFC 9112,
    /// section 9.6).
    fn exchange(&self, connection: &mut Connection, requests: &[String]) -> bool {
        let Connection { raw, may_be_reset } = connection;
        if raw.try_send(requests.concat(), wait::LIMIT) {
            for number in 0..requests.len() {
                let answer = match raw.try_answer(false) {
                    Ok(answer) => answer,
                    Err(_) if *may_be_reset => return false,
                    Err(error) => self.unanswered(number, &error),
                };
                *may_be_reset = false;
                assert!([200, 201].contains(&answer.status), "{answer:?}");
                self.whole.fetch_add(1, Ordering::SeqCst);
                if answer.header("connection") == Some("close") {
                    return false;
                }
            }
            return true;
        }
        if *may_be_reset {
            return false;
        }
        // The connection was closed before all was sent, which is told by what comes back.
        let error = io::ErrorKind::BrokenPipe.into();
        self.unanswered(0, &error)
    }

    fn unanswered(&self, number: usize, error: &io::Error) -> ! {
        let before = self.whole.load(Ordering::SeqCst);
        panic!("request {number} of a connection was not answered, after {before} answers: {error}")
    }

    /// Connects again and again, until the service takes no more connections.
    fn connect_until_refused(&self, address: SocketAddr, mut use_it: impl FnMut(Connection)) {
        while let Ok(raw) = Raw::try_to(address) {
            use_it(Connection { raw, may_be_reset: self.is_stopping.load(Ordering::SeqCst) });
        }
    }

    /// A new connection for each request.
    fn connect_again(&self, address: SocketAddr) {
        let mut number = 0;
        self.connect_until_refused(address, |mut connection| {
            number += 1;
            self.exchange(&mut connection, &[request(number)]);
        });
    }

    /// One request after the other, so many at once, on one connection for as long as it stays.
    fn stay(&self, address: SocketAddr, at_once: usize) {
        let requests: Vec<_> = (0..at_once).map(request).collect();
        self.connect_until_refused(
            address,
            |mut connection| {
                while self.exchange(&mut connection, &requests) {}
            },
        );
    }

    /// HTTP/2, on the client's one connection to this server.
    fn stay_http2(&self, client: &Client) {
        loop {
            match client.add(&pet("stopping")).try_send() {
                Ok(answer) => drop(answer.is(201)),
                Err(error) if error.is_connect() => return,
                // Of another connection, made after the signal.
                Err(error) if self.is_stopping.load(Ordering::SeqCst) && is_reset(&error) => return,
                Err(error) => panic!("a stream was not answered: {error:?}"),
            }
            self.whole.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns whether the system of the service has reset the connection.
fn is_reset(error: &reqwest::Error) -> bool {
    let mut cause = Some(error as &dyn Error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind.is_some_and(|kind| [ConnectionReset, BrokenPipe].contains(&kind)) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[test]
fn a_stop_under_load_leaves_no_request_unanswered() {
    for _ in 0..crashes(5, 100) {
        let store = Store::sqlite();
        let server = Launch::on(&store).start();
        let (address, http2) = (server.address, server.http2());
        let answers = Answers::default();
        thread::scope(|scope| {
            // Dropped within the scope if the test fails: the clients go on until nobody listens.
            let mut server = server;
            let clients = [(); CLIENTS].map(|()| {
                [
                    scope.spawn(|| answers.connect_again(address)),
                    scope.spawn(|| answers.stay(address, 1)),
                    scope.spawn(|| answers.stay(address, PIPELINED)),
                    scope.spawn(|| answers.stay_http2(&http2)),
                ]
            });
            wait::until("the load is there", || {
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

/// Connections that wait to be accepted, each with a request, at the moment of the signal.
#[test]
fn what_waits_in_the_accept_queue_is_answered() {
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

/// Clients that do nothing more, each of another kind.
fn stuck(server: &Server) -> Vec<Raw> {
    let whole = post(&pet("stuck").to_string());
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let starts = ["", "GET /livez HT", &whole[..whole.len() - 3], &preface[..10], preface];
    let mut clients: Vec<Raw> = (0..starts.len()).map(|_| server.raw()).collect();
    for (raw, start) in clients.iter_mut().zip(starts) {
        raw.send(start);
    }
    // More answers than any buffer holds, and nobody reads them.
    let mut deaf = server.raw();
    deaf.try_send(head("GET", "/openapi.json", "").repeat(2000), Duration::from_secs(1));
    clients.push(deaf);
    clients
}

/// Stops a service with a grace of 2 s among clients that do nothing more. Returns how long that took.
fn stop_among_stuck_clients() -> Duration {
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
    let took = began.elapsed();
    drop(clients);
    took
}

#[test]
fn a_stop_ends_whatever_clients_do() {
    stop_among_stuck_clients();
}

#[needs(quiet)]
#[test]
fn a_stop_ends_within_the_grace_whatever_clients_do() {
    // One second more, to close the store.
    let took = stop_among_stuck_clients();
    assert!(took <= Duration::from_secs(3), "{took:.2?}");
}

/// Clients of HTTP/2 that send one kind of frame for ever: before their first request, and after it.
#[test]
fn a_stop_does_not_wait_for_clients_that_send_only_control_frames() {
    const GRACE: Duration = Duration::from_secs(100);
    let store = Store::memory();
    let mut server = Launch::on(&store).flag("--shutdown-grace", "100s").start();
    let get = frame(HEADERS, END_HEADERS | END_STREAM, 1, &h2_head("GET", "/livez"));
    let stopped = AtomicBool::new(false);
    let began = thread::scope(|scope| {
        let _stopped = EndOnDrop::new(&stopped);
        for (kind, payload) in [(PING, &[7; 8][..]), (SETTINGS, &[])] {
            for start in [&[][..], &get] {
                let mut frames = Frames::to(&server);
                frames.discard_answers();
                frames.send(start);
                let stopped = &stopped;
                scope.spawn(move || {
                    while !stopped.load(Ordering::SeqCst) {
                        frames.send(&frame(kind, 0, 0, payload));
                        thread::sleep(Duration::from_millis(10));
                    }
                });
            }
        }
        server.client().get("/livez").send().is(200);
        server.signal("TERM");
        let began = Instant::now();
        assert_eq!(server.exit(), Some(0), "{}", server.log());
        began
    });
    assert!(began.elapsed() < GRACE / 2, "{:?}", began.elapsed());
    let log = server.whole_log();
    assert!(log.contains("every request was answered"), "{log}");
}
