//! A service that knows one node of a cluster alone, and goes on when that is not the leader any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use super::{
    journal::{Journal, Kind},
    worker::Worker,
};
use crate::support::{
    additions::Addition,
    server::{Launch, Server},
    store::Store,
};

/// Its one writer has a number that no other has, and no idempotency keys: what it has no answer to it
/// does not try again.
const FIRST_WRITER: usize = 10_001;
/// Additions that it makes while its node is the leader.
const ENOUGH: usize = 20;

pub(crate) struct Stray {
    _server: Server,
    journal: Arc<Journal>,
    stopping: Arc<AtomicBool>,
    writer: JoinHandle<Vec<Addition>>,
}

impl Stray {
    /// Starts it on the node at `url`, which is the leader; `number` tells it from those before.
    pub(crate) fn start(number: usize, url: &str) -> Self {
        let server = Launch::on(&Store::at(url)).start();
        let (journal, stopping) = (Arc::<Journal>::default(), Arc::<AtomicBool>::default());
        let worker = Worker {
            client: server.client(),
            journal: Arc::clone(&journal),
            stopping: Arc::clone(&stopping),
            may_be_behind: false,
        };
        let writer = thread::spawn(move || worker.write(FIRST_WRITER + 2 * number, None));
        journal.wait_for(Instant::now(), &[Kind::Add], ENOUGH);
        Self { _server: server, journal, stopping, writer }
    }

    /// Stops it; what it tried. Holds that nothing was acknowledged that was sent after its node had
    /// been `deposed`.
    pub(crate) fn stop(self, deposed: Instant) -> Vec<Addition> {
        self.stopping.store(true, Ordering::Relaxed);
        let tried = self.writer.join().unwrap();
        let entries = self.journal.entries();
        let late = entries.iter().find(|entry| entry.began >= deposed && entry.succeeded());
        assert!(late.is_none(), "a deposed leader took a write: {late:?}");
        tried
    }
}
