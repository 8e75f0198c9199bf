//! Requests during a move, none of which may be refused, except while the store that decides is down.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
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
    outages: Arc<AtomicU32>,
    writers: Vec<JoinHandle<Vec<Addition>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins, on each of these services.
    pub(crate) fn start(name: &str, clients: &[Client]) -> Self {
        let (stop, known) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Known>>>::default());
        let outages = Arc::default();
        let mut load = Self { stop, known, outages, writers: Vec::new(), readers: Vec::new() };
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
        let (client, outages) = (client.clone(), Arc::clone(&self.outages));
        Worker { service, client, stop, known, outages }
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

    /// Requests may be refused while `outage` lasts.
    pub(crate) fn during<T>(&self, outage: impl FnOnce() -> T) -> T {
        self.outages.fetch_add(1, Ordering::SeqCst);
        let done = outage();
        self.outages.fetch_add(1, Ordering::SeqCst);
        done
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
