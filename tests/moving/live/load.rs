//! Requests during a handover, none of which may be refused.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::worker::{Known, Worker};
use crate::support::{additions::Addition, client::Client, wait};

const WRITERS: usize = 4;

/// Writers and readers that work until they are ended.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    known: Arc<Mutex<Vec<Known>>>,
    writers: Vec<JoinHandle<Vec<Addition>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins, on each of these services.
    pub(crate) fn start(name: &str, clients: &[Client]) -> Self {
        let (stop, known) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Known>>>::default());
        let mut load = Self { stop, known, writers: Vec::new(), readers: Vec::new() };
        for (number, (service, client)) in (0..WRITERS).zip(clients.iter().enumerate().cycle()) {
            let worker = load.worker(service, client);
            let name = format!("{name} w{number}");
            load.writers.push(thread::spawn(move || worker.write(&name, number % 2 == 0)));
        }
        for (service, client) in clients.iter().enumerate() {
            let [reader, walker] = [(); 2].map(|()| load.worker(service, client));
            load.readers.push(thread::spawn(move || reader.read()));
            load.readers.push(thread::spawn(move || walker.walk()));
        }
        load
    }

    fn worker(&self, service: usize, client: &Client) -> Worker {
        let (stop, known) = (Arc::clone(&self.stop), Arc::clone(&self.known));
        Worker { service, client: client.clone(), stop, known }
    }

    /// How many additions were acknowledged until now.
    pub(crate) fn acknowledged(&self) -> usize {
        self.known.lock().unwrap().len()
    }

    /// Waits until additions are acknowledged, by each writer some.
    #[track_caller]
    pub(crate) fn goes_on(&self) {
        let before = self.acknowledged();
        wait::until("additions go on", || self.acknowledged() > before + 40);
    }

    /// Ends it: what was added.
    #[track_caller]
    pub(crate) fn end(mut self) -> Vec<Addition> {
        self.stop.store(true, Ordering::Relaxed);
        for reader in mem::take(&mut self.readers) {
            reader.join().unwrap();
        }
        mem::take(&mut self.writers).into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
