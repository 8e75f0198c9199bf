//! Requests during a move, none of which may be refused, except while the store that decides is down.

use std::{
    collections::HashSet,
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    additions::Addition,
    answer::Answer,
    catalogue::{id_of, pets},
    client::{Call, Client},
    wait,
};

const WRITERS: usize = 4;
/// A rest after each request, so that a move has something left of a small machine.
const REST: Duration = Duration::from_millis(3);

/// An animal that was acknowledged.
#[derive(Clone, Copy)]
struct Known {
    id: i64,
    /// The service that did.
    service: usize,
}

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

struct Worker {
    service: usize,
    client: Client,
    stop: Arc<AtomicBool>,
    known: Arc<Mutex<Vec<Known>>>,
    /// Odd while the store that decides is down.
    outages: Arc<AtomicU32>,
}

impl Worker {
    fn goes_on(&self) -> bool {
        thread::sleep(REST);
        !self.stop.load(Ordering::Relaxed)
    }

    /// The answer; `None` if the request was refused, and the store that decides was down meanwhile.
    fn send(&self, call: Call) -> Option<Answer> {
        let before = self.outages.load(Ordering::SeqCst);
        let answer = call.send();
        let was_down = before % 2 == 1 || self.outages.load(Ordering::SeqCst) != before;
        if answer.status == 503 && was_down { None } else { Some(answer) }
    }

    fn get(&self, target: &str) -> Option<Answer> {
        self.send(self.client.get(target))
    }

    fn write(self, name: &str, with_key: bool) -> Vec<Addition> {
        let mut additions = Vec::new();
        while self.goes_on() {
            let n = additions.len();
            let mut addition = Addition::new(&format!("{name} n{n}"), n, with_key);
            let mut answer = self.send(addition.call(&self.client));
            // Only what has an idempotency key can be sent again.
            while with_key && answer.is_none() && self.goes_on() {
                answer = self.send(addition.call(&self.client));
            }
            addition.acknowledged = answer.map(|answer| answer.is(201).json());
            let known = |pet| Known { id: id_of(pet), service: self.service };
            self.known.lock().unwrap().extend(addition.acknowledged.iter().map(known));
            additions.push(addition);
        }
        additions
    }

    /// What was acknowledged is there at once, on whichever service, and the first page is always the same.
    fn read(self) {
        const FIRST: &str = "/v1/pets?limit=5";
        let first = self.client.get(FIRST).send().is(200);
        let (mut tag, first) = (first.must("etag").to_owned(), pets(&first));
        while self.goes_on() {
            let last = self.known.lock().unwrap().last().copied();
            if let Some(Known { id, .. }) = last
                && let Some(found) = self.get(&format!("/v1/pets/{id}"))
            {
                assert_eq!(id_of(&found.is(200).json()), id);
            }
            let again = self.send(self.client.get(FIRST).header("if-none-match", &tag));
            if let Some(again) = again.filter(|again| again.status != 304) {
                again.must("etag").clone_into(&mut tag);
                assert_eq!(pets(&again.is(200)), first);
            }
        }
    }

    /// A walk meets everything that this service has acknowledged before it began. What another one has may
    /// come a moment later: pages are cached.
    fn walk(self) {
        while self.goes_on() {
            let before = self.known.lock().unwrap().clone();
            let Some(all) = self.everything() else { continue };
            let ids: HashSet<i64> = all.iter().map(id_of).collect();
            assert_eq!(ids.len(), all.len(), "an animal is met twice");
            let own = before.into_iter().filter(|known| known.service == self.service);
            let missed: Vec<_> = own.map(|known| known.id).filter(|id| !ids.contains(id)).collect();
            assert!(missed.is_empty(), "a walk has missed {missed:?}");
        }
    }

    /// `None` if a page was refused.
    fn everything(&self) -> Option<Vec<Value>> {
        let (mut all, mut next) = (Vec::new(), Some("/v1/pets?limit=100".to_owned()));
        while let Some(target) = next {
            let page = self.get(&target)?.is(200);
            next = page.link("next");
            all.extend(pets(&page));
        }
        Some(all)
    }
}
