//! A proxy that loses the answer to a COMMIT.

use std::{
    io::{Read, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

/// The simple query `COMMIT` on the wire (PostgreSQL's protocol, message "Query").
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// The time from the first lost bytes until the connection is cut. These bytes may answer a statement before the
/// COMMIT, so the server gets time to finish the commit. Even if it needs longer, the client cannot know the outcome.
const COMMIT_TIME: Duration = Duration::from_millis(300);

/// A proxy to a server. When armed, the proxy forwards the next COMMIT but not its answer, and cuts the connection.
#[derive(Debug)]
pub(crate) struct LostAnswer {
    port: u16,
    armed: Arc<AtomicU32>,
}

impl LostAnswer {
    /// Starts a proxy to the server of `url`, which names any database there.
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let address = url.split_once('@').and_then(|(_, place)| place.split_once('/'));
        let server = address.ok_or("a URL without an address")?.0.to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let armed = Arc::new(AtomicU32::new(0));
        let state = Arc::clone(&armed);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let state = Arc::clone(&state);
                thread::spawn(move || forward(&client, &server, &state));
            }
        });
        Ok(Self { port, armed })
    }

    /// Returns the URL of the same database through the proxy, without TLS.
    pub(crate) fn url(&self, url: &str) -> String {
        let parts = url.split_once('@').and_then(|(user, place)| {
            Some(format!(
                "{user}@127.0.0.1:{}/{}?sslmode=disable",
                self.port,
                place.split_once('/')?.1
            ))
        });
        parts.unwrap_or_default()
    }

    /// Loses the answers to the next `many` commits.
    pub(crate) fn lose(&self, many: u32) {
        self.armed.store(many, Ordering::SeqCst);
    }

    /// Returns how many answers are still to be lost.
    pub(crate) fn left(&self) -> u32 {
        self.armed.load(Ordering::SeqCst)
    }
}

/// Forwards until either side ends, or until an answer is lost.
fn forward(client: &TcpStream, server: &TcpStream, armed: &AtomicU32) {
    let lost = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            pump(server, client, |_| lost.load(Ordering::SeqCst) == 0);
            let _ = client.shutdown(Shutdown::Both);
        });
        pump(client, server, |bytes| {
            let is_commit = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
            let take = |left: u32| left.checked_sub(1);
            if is_commit && armed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
                lost.store(1, Ordering::SeqCst);
            }
            true
        });
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Forwards bytes while they `may_pass`. At the first bytes that may not pass, waits for [`COMMIT_TIME`] and ends.
fn pump(mut from: &TcpStream, mut to: &TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 16384];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..length]) {
            thread::sleep(COMMIT_TIME);
            return;
        }
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
