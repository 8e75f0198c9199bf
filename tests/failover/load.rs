//! Writers, readers and probes that run until they are told to stop.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::{
    journal::{Journal, Kind},
    worker::Worker,
};
use crate::support::{additions::Addition, client::Client};

/// As many with an idempotency key as without, with the suite's API key as with one of the store.
pub(crate) const WRITERS: usize = 8;
const READERS: usize = 2;

/// The load on one service.
pub(crate) struct Load {
    pub(crate) journal: Arc<Journal>,
    stopping: Arc<AtomicBool>,
    writers: Vec<JoinHandle<Vec<Addition>>>,
    others: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins; `stored` is an API key out of the store.
    pub(crate) fn start(client: &Client, stored: &str) -> Self {
        Self::start_as(0..WRITERS, client, stored, false)
    }

    /// The same with writers of these numbers, which no other load has. `may_be_behind`: an animal that was
    /// acknowledged may not be found, which the journal then has as 404.
    pub(crate) fn start_as(
        numbers: Range<usize>,
        client: &Client,
        stored: &str,
        may_be_behind: bool,
    ) -> Self {
        let journal = Arc::<Journal>::default();
        let stopping = Arc::<AtomicBool>::default();
        let worker = || Worker {
            client: client.clone(),
            journal: Arc::clone(&journal),
            stopping: Arc::clone(&stopping),
            may_be_behind,
        };
        let writers = numbers.map(|number| {
            let (worker, stored) = (worker(), (number % 4 >= 2).then(|| stored.to_owned()));
            thread::spawn(move || worker.write(number, stored.as_deref()))
        });
        let writers = writers.collect();
        let readers = (0..READERS).map(|_| worker()).map(|reader| thread::spawn(|| reader.read()));
        let probes = [
            (Kind::Ready, client.get("/readyz").anonymous()),
            (Kind::Live, client.get("/livez").anonymous()),
            (Kind::ReadWithStoredKey, client.get("/v1/pets?limit=1").key(stored)),
        ];
        let probes = probes.map(|(kind, call)| (worker(), kind, call));
        let probes =
            probes.map(|(probe, kind, call)| thread::spawn(move || probe.probe(kind, &call)));
        let others = readers.chain(probes).collect();
        Self { journal, stopping, writers, others }
    }

    /// Waits until all work is done: what was tried. What has an idempotency key was acknowledged.
    pub(crate) fn stop(mut self) -> Vec<Addition> {
        self.stopping.store(true, Ordering::Relaxed);
        for other in self.others.drain(..) {
            other.join().unwrap();
        }
        self.writers.drain(..).flat_map(|writer| writer.join().unwrap()).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}
