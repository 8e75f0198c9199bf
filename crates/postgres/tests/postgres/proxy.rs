//! A proxy to a server, which loses bytes.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

/// The simple query `COMMIT` on the wire (PostgreSQL's protocol, message "Query").
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// The answer to a commit on the wire (message `CommandComplete`).
const COMMITTED: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
/// The time from a COMMIT whose answer is lost until the connection is cut, in which the server finishes the commit.
/// Even if the server needs longer, the client cannot know the outcome.
const COMMIT_TIME: Duration = Duration::from_millis(300);

#[derive(Default)]
struct State {
    /// The number of cuts and repairs. The network is cut while the number is odd.
    changes: AtomicUsize,
    /// The number of commits whose answers are still to be lost.
    commits: AtomicUsize,
    /// The answer to the next commit, instead of the server's.
    error: Mutex<Option<String>>,
}

/// A proxy to the server of a database.
pub(crate) struct Proxy {
    /// The URL of the database through the proxy, without TLS.
    pub(crate) url: String,
    state: Arc<State>,
}

impl Proxy {
    pub(crate) fn to(url: &str) -> Self {
        let (credential, place) = url.split_once('@').unwrap();
        let (server, name) = place.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let (server, state) = (server.to_owned(), Arc::new(State::default()));
        let proxy = Self {
            url: format!("{credential}@{here}/{name}?sslmode=disable"),
            state: state.clone(),
        };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let state = state.clone();
                thread::spawn(move || forward(&client, &server, &state));
            }
        });
        proxy
    }

    /// Cuts the network, or repairs it after a cut, as a firewall would: bytes are lost, and a connection from before
    /// or during the cut stays silent for good.
    pub(crate) fn change(&self) {
        self.state.changes.fetch_add(1, SeqCst);
    }

    /// Forwards the next `many` commits, but loses their answers and cuts their connections.
    pub(crate) fn lose_answers(&self, many: usize) {
        self.state.commits.store(many, SeqCst);
    }

    /// Forwards the next commit, answers it with an error of these fields, and cuts its connection.
    pub(crate) fn answer_with(&self, fields: &str) {
        *self.state.error.lock().unwrap() = Some(fields.to_owned());
    }
}

/// Forwards until either side ends.
fn forward(client: &TcpStream, server: &TcpStream, state: &State) {
    let begun = state.changes.load(SeqCst);
    let is_cut = || begun % 2 == 1 || state.changes.load(SeqCst) != begun;
    let is_lost = AtomicBool::new(false);
    let end = || [client, server].map(|side| drop(side.shutdown(Shutdown::Both)));
    thread::scope(|scope| {
        scope.spawn(|| {
            pump(server, client, |bytes| {
                let place = bytes.windows(COMMITTED.len()).position(|part| part == COMMITTED);
                let error = place.and_then(|_| state.error.lock().unwrap().take());
                if let (Some(place), Some(fields)) = (place, error) {
                    let length = u32::try_from(fields.len() + 5).unwrap().to_be_bytes();
                    let answer =
                        [&bytes[..place], b"E", &length, fields.as_bytes(), b"\0"].concat();
                    (&*client).write_all(&answer).unwrap();
                    end();
                }
                !is_cut() && !is_lost.load(SeqCst)
            });
            end();
        });
        pump(client, server, |bytes| {
            let is_commit = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
            let one_less = |left: usize| left.checked_sub(1);
            if is_commit && state.commits.fetch_update(SeqCst, SeqCst, one_less).is_ok() {
                is_lost.store(true, SeqCst);
                scope.spawn(|| {
                    thread::sleep(COMMIT_TIME);
                    end();
                });
            }
            !is_cut()
        });
        end();
    });
}

/// Forwards the bytes that `may_pass`, and loses the others.
fn pump(mut from: &TcpStream, mut to: &TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 16384];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        if may_pass(bytes) && to.write_all(bytes).is_err() {
            return;
        }
    }
}
