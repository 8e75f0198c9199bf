//! Writers, readers and probes that work beside a test, a journal of their requests, and a checker of the resulting
//! list.
//!
//! A client ends when its assertion fails. The test then fails when it next waits for the load or stops it. A test that
//! fails drops its load, which ends the clients.

mod history;
pub(crate) mod journal;
mod tail;

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

use self::{
    journal::{Addition, Entry, Journal, Kind},
    tail::Tail,
};
use crate::support::{
    answer::Answer,
    catalogue::{id_of, pets},
    client::{Call, Client},
    wait,
};

/// The kinds of request that need the store.
pub(crate) const NEED_THE_STORE: [Kind; 5] =
    [Kind::Add, Kind::AddWithStoredKey, Kind::Read, Kind::ReadWithStoredKey, Kind::Ready];

/// The pause between two requests of a writer or reader, which leaves processor time to other processes.
const BREATH: Duration = Duration::from_millis(20);
/// The pause between two requests of a probe, and before a refused request is repeated.
const PAUSE: Duration = Duration::from_millis(40);
/// The number of writers in a full load: two for each API key, with and without idempotency keys.
pub(crate) const WRITERS: usize = 8;
/// The number of new additions after which a service counts as working.
const ENOUGH: usize = 20;

/// The failures that a request may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outages {
    /// None: every request succeeds.
    Never,
    /// A 503.
    Refuse,
    /// A 503, or a 404 for an acknowledged animal from a store that is behind.
    Forget,
    /// The end of the service, which ends the client.
    End,
}

/// Clients of one service, which work until the value is dropped.
pub(crate) struct Load {
    worker: Worker,
    over: EndOnDrop<Arc<AtomicBool>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Makes a load without clients.
    pub(crate) fn on(client: &Client, journal: &Arc<Journal>, outages: Outages) -> Self {
        let (client, journal, over) = (client.clone(), Arc::clone(journal), Arc::default());
        let worker = Worker { client, journal, outages, over: Arc::clone(&over) };
        Self { worker, over: EndOnDrop::new(over), threads: Vec::new() }
    }

    fn with(mut self, work: impl FnOnce(&Worker) + Send + 'static) -> Self {
        let worker = self.worker.clone();
        self.threads.push(thread::spawn(move || work(&worker)));
        self
    }

    /// Adds `count` writers. Half of the writers use idempotency keys. If `stored` is an API key, half of them use it.
    pub(crate) fn writers(self, count: usize, stored: Option<&str>) -> Self {
        (0..count).fold(self, |load, number| {
            load.writer(number % 2 == 0, stored.filter(|_| number % 4 >= 2))
        })
    }

    pub(crate) fn writer(self, with_key: bool, stored: Option<&str>) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stored = stored.map(str::to_owned);
        self.with(move |worker| worker.write(number, with_key, stored.as_ref()))
    }

    /// Adds `count` readers of pages and of the animal that was acknowledged last, by any service with this journal.
    pub(crate) fn readers(self, count: usize) -> Self {
        (0..count).fold(self, |load, _| load.with(Worker::read))
    }

    /// Adds a reader of the last page. The page must have each animal that was acknowledged at least `lag` before the
    /// request: by any service of `journals`, or by this service alone if `lag` is zero.
    pub(crate) fn tail(self, journals: &[Arc<Journal>], lag: Duration) -> Self {
        let journals = journals.to_vec();
        self.with(move |worker| worker.tail(Tail::new(journals, lag)))
    }

    /// Adds probes of `/readyz`, of `/livez`, and of a page with the API key `stored`.
    pub(crate) fn probes(self, stored: &str) -> Self {
        let client = &self.worker.client;
        let probes = [
            (Kind::Ready, client.get("/readyz").anonymous()),
            (Kind::Live, client.get("/livez").anonymous()),
            (Kind::ReadWithStoredKey, client.get("/v1/pets?limit=1").key(stored)),
        ];
        probes
            .into_iter()
            .fold(self, |load, (kind, call)| load.with(move |worker| worker.probe(kind, &call)))
    }

    pub(crate) fn journal(&self) -> &Arc<Journal> {
        &self.worker.journal
    }

    /// Returns the journal's entries about requests to this service.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = self.journal().entries();
        entries.retain(|entry| entry.service == self.worker.client.origin());
        entries
    }

    /// Waits until the journal has `count` `wanted` entries about requests to this service that began after `start`.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        what: &str,
        start: Instant,
        count: usize,
        wanted: impl Fn(&Entry) -> bool,
    ) {
        wait::until(what, || {
            self.look();
            let service = self.worker.client.origin();
            let counts =
                |entry: &&Entry| entry.began >= start && entry.service == service && wanted(entry);
            self.journal().with(|entries| entries.iter().filter(counts).count()) >= count
        });
    }

    /// Waits until `count` requests of each kind that began after `start` have succeeded.
    #[track_caller]
    pub(crate) fn works(&mut self, start: Instant, kinds: &[Kind], count: usize) {
        for kind in kinds {
            let is_good = |entry: &Entry| entry.kind == *kind && entry.succeeded();
            self.until(&format!("{kind:?} succeeds"), start, count, is_good);
        }
    }

    /// Waits until [`ENOUGH`] more additions are acknowledged.
    #[track_caller]
    pub(crate) fn continues(&mut self) {
        let is_new = |entry: &Entry| entry.added.is_some();
        self.until("additions go on", Instant::now(), ENOUGH, is_new);
    }

    /// Returns the time from `start` until a request of this kind first succeeded.
    #[track_caller]
    pub(crate) fn first_success(&self, start: Instant, kind: Kind) -> Duration {
        let entries = self.entries();
        let mut good = entries.iter().filter(|entry| entry.kind == kind && entry.succeeded());
        good.find(|entry| entry.ended >= start).expect("a success after `start`").ended - start
    }

    /// Panics if a client has panicked.
    fn look(&mut self) {
        for thread in self.threads.extract_if(.., |thread| thread.is_finished()) {
            thread.join().unwrap_or_else(|failure| resume_unwind(failure));
        }
    }

    /// Ends the clients and waits for them. Each addition with a key is then acknowledged, unless the service ended.
    pub(crate) fn stop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|failure| resume_unwind(failure));
        }
    }
}

/// One client.
#[derive(Clone)]
struct Worker {
    client: Client,
    journal: Arc<Journal>,
    outages: Outages,
    over: Arc<AtomicBool>,
}

impl Worker {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Adds unique animals. With idempotency keys, repeats every fourth addition.
    fn write(&self, number: usize, with_key: bool, stored: Option<&String>) {
        for n in 0.. {
            let mut addition = Addition::new(&format!("w{number} n{n}"), n, with_key);
            addition.api_key = stored.cloned();
            let is_told = self.add(&addition);
            if !is_told && self.outages == Outages::End || self.is_over() {
                return;
            }
            if is_told && with_key && n % 4 == 0 {
                self.send(addition.kind(), addition.call(&self.client), Some(&addition));
            }
            thread::sleep(BREATH);
        }
    }

    /// Sends an addition once; with an idempotency key, until it is acknowledged or the service has ended. Returns
    /// whether the addition was acknowledged.
    fn add(&self, addition: &Addition) -> bool {
        let (kind, mut last_try) = (addition.kind(), None);
        while self.send(kind, addition.call(&self.client), Some(addition)).is_none() {
            if addition.key.is_none() || self.outages == Outages::End {
                return false;
            }
            if self.is_over() {
                let last_try = *last_try.get_or_insert_with(|| Instant::now() + wait::ANSWER);
                assert!(Instant::now() < last_try, "the service never comes back");
            }
        }
        true
    }

    /// Reads the animal that was acknowledged last, which must be there; the first page, which must not lose animals;
    /// and sold animals.
    fn read(&self) {
        let (mut tag, mut first) = (None::<String>, Vec::new());
        while !self.is_over() {
            if let Some(known) = self.journal.last_added() {
                let found = self.get(&format!("/v1/pets/{}", id_of(&known)), None);
                assert!(found.is_none_or(|found| found.json() == known), "{known} has changed");
            }
            let page = self.get("/v1/pets?limit=5", tag.as_deref());
            if let Some(page) = page.filter(|page| page.status == 200) {
                let before = std::mem::replace(&mut first, pets(&page));
                let is_kept = first.starts_with(&before) || self.outages == Outages::Forget;
                assert!(is_kept, "the first page lost animals: {before:?} became {first:?}");
                tag = page.header("etag").map(str::to_owned);
            }
            if let Some(sold) = self.get("/v1/pets?status=sold&limit=7", None) {
                assert!(pets(&sold).iter().all(|pet| pet["status"] == "sold"), "{sold:?}");
            }
            thread::sleep(BREATH);
        }
    }

    fn tail(&self, mut tail: Tail) {
        while !self.is_over() {
            let began = Instant::now();
            let answer = self.send(Kind::ReadTail, tail.call(&self.client), None);
            if let Some(answer) = answer {
                tail.sees(&answer, began, self.client.origin());
            }
            thread::sleep(BREATH);
        }
    }

    /// Repeats one request.
    fn probe(&self, kind: Kind, call: &Call) {
        while !self.is_over() {
            self.send(kind, call.clone(), None);
            thread::sleep(PAUSE);
        }
    }

    fn get(&self, target: &str, tag: Option<&str>) -> Option<Answer> {
        let call = self.client.get(target);
        let call = tag.into_iter().fold(call, |call, tag| call.header("if-none-match", tag));
        self.send(Kind::Read, call, None)
    }

    /// Sends a request. Returns the answer if it succeeds. Asserts that any other outcome is permitted.
    fn send(&self, kind: Kind, call: Call, addition: Option<&Addition>) -> Option<Answer> {
        let answer = match self.journal.send(&self.client, kind, call, addition) {
            Ok(answer) if [200, 201, 304].contains(&answer.status) => return Some(answer),
            Ok(answer) => answer,
            Err(_) if self.outages == Outages::End => return None,
            Err(error) => panic!("{kind:?}: {error:?}"),
        };
        assert_ne!(self.outages, Outages::Never, "{answer:?}");
        if answer.status != 404 || self.outages != Outages::Forget {
            answer.refuses(503, "unavailable");
        }
        thread::sleep(PAUSE);
        None
    }
}
