//! Requests during a move, none of which may be refused.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    additions::Addition,
    catalogue::{id_of, pets, walk},
    client::Client,
};

const WRITERS: usize = 4;
/// A rest after each request, so that a move has something left of a small machine.
const REST: Duration = Duration::from_millis(3);

/// Writers and readers that work until they are ended.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    known: Arc<Mutex<Vec<i64>>>,
    writers: Vec<JoinHandle<Vec<Addition>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins, on each of these services.
    pub(crate) fn start(name: &str, clients: &[Client]) -> Self {
        let (stop, known) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<i64>>>::default());
        let mut load = Self { stop, known, writers: Vec::new(), readers: Vec::new() };
        for (number, client) in (0..WRITERS).zip(clients.iter().cycle()) {
            let worker = load.worker(client);
            let name = format!("{name} w{number}");
            load.writers.push(thread::spawn(move || worker.write(&name, number % 2 == 0)));
        }
        for client in clients {
            let (reader, walker) = (load.worker(client), load.worker(client));
            load.readers.push(thread::spawn(move || reader.read()));
            load.readers.push(thread::spawn(move || walker.walk()));
        }
        load
    }

    fn worker(&self, client: &Client) -> Worker {
        let (stop, known) = (Arc::clone(&self.stop), Arc::clone(&self.known));
        Worker { client: client.clone(), stop, known }
    }

    /// How many additions were acknowledged until now.
    pub(crate) fn acknowledged(&self) -> usize {
        self.known.lock().unwrap().len()
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

struct Worker {
    client: Client,
    stop: Arc<AtomicBool>,
    known: Arc<Mutex<Vec<i64>>>,
}

impl Worker {
    fn goes_on(&self) -> bool {
        thread::sleep(REST);
        !self.stop.load(Ordering::Relaxed)
    }

    fn write(self, name: &str, with_key: bool) -> Vec<Addition> {
        let mut additions = Vec::new();
        while self.goes_on() {
            let n = additions.len();
            let mut addition = Addition::new(&format!("{name} n{n}"), n, with_key);
            let pet = addition.call(&self.client).send().is(201).json();
            self.known.lock().unwrap().push(id_of(&pet));
            addition.acknowledged = Some(pet);
            additions.push(addition);
        }
        additions
    }

    /// What was acknowledged is there at once, on whichever service, and the first page is always the same.
    fn read(self) {
        let first = self.client.get("/v1/pets?limit=5").send().is(200);
        let (mut tag, first) = (first.must("etag").to_owned(), pets(&first));
        while self.goes_on() {
            let last = self.known.lock().unwrap().last().copied();
            if let Some(id) = last {
                let found = self.client.get(&format!("/v1/pets/{id}")).send().is(200).json();
                assert_eq!(id_of(&found), id);
            }
            let again = self.client.get("/v1/pets?limit=5").header("if-none-match", &tag).send();
            if again.status != 304 {
                again.must("etag").clone_into(&mut tag);
                assert_eq!(pets(&again.is(200)), first);
            }
        }
    }

    /// A walk meets everything that was there when it began.
    fn walk(self) {
        while self.goes_on() {
            let before = self.known.lock().unwrap().clone();
            let all: Vec<Value> = walk(&self.client, "/v1/pets?limit=100").concat();
            let ids: std::collections::HashSet<i64> = all.iter().map(id_of).collect();
            assert_eq!(ids.len(), all.len(), "an animal is met twice");
            let missed: Vec<_> = before.iter().filter(|id| !ids.contains(id)).collect();
            assert!(missed.is_empty(), "a walk has missed {missed:?}");
        }
    }
}
