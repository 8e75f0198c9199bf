//! The load of every test that needs one: writers, readers and probes that work beside the test, a journal of all
//! that they ask, and a checker of what a service then has.
//!
//! A client whose assertion fails ends, and the test with it at its next look at the load. A test that fails drops
//! its load, which ends the clients.

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

/// The kinds of request that cannot succeed without the store.
pub(crate) const NEED_THE_STORE: [Kind; 5] =
    [Kind::Add, Kind::AddWithStoredKey, Kind::Read, Kind::ReadWithStoredKey, Kind::Ready];

/// Between two requests of a writer or reader: other processes need the machine too.
const BREATH: Duration = Duration::from_millis(8);
/// Between two requests of a probe, and before a refused one is sent again.
const PAUSE: Duration = Duration::from_millis(40);
/// Writers of a full load, which has each kind of them twice.
pub(crate) const WRITERS: usize = 8;
/// Additions that show that a service goes on.
const ENOUGH: usize = 40;

/// The outages that a request may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outages {
    /// It succeeds.
    Never,
    /// It succeeds or is refused with 503.
    Refuse,
    /// The same, and a store that is behind may not find what was acknowledged.
    Forget,
    /// It succeeds, or there is no service any more, and the client ends.
    End,
}

/// Clients of one service, which work until the value is dropped.
pub(crate) struct Load {
    worker: Worker,
    over: EndOnDrop<Arc<AtomicBool>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// No clients yet.
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

    /// With so many writers: as many with idempotency keys as without, and with `stored`, an API key out of the store,
    /// as with the suite's own.
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

    /// With so many readers of what was acknowledged last, by whichever service writes to the journal, and of pages.
    pub(crate) fn readers(self, count: usize) -> Self {
        (0..count).fold(self, |load, _| load.with(Worker::read))
    }

    /// With a reader of the last page, which must have all that was acknowledged `lag` before it was asked for:
    /// according to all of `journals`, or by this service alone if there is no lag.
    pub(crate) fn tail(self, journals: &[Arc<Journal>], lag: Duration) -> Self {
        let journals = journals.to_vec();
        self.with(move |worker| worker.tail(Tail::new(journals, lag)))
    }

    /// With probes of `/readyz`, of `/livez`, and of a page with an API key out of the store.
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

    /// The entries about this service.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = self.journal().entries();
        entries.retain(|entry| entry.service == self.worker.client.origin());
        entries
    }

    /// Waits until so many more entries are as `wanted`, of those about this service that begin after `start`.
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

    /// Waits until so many requests of each kind have succeeded that began after `start`.
    #[track_caller]
    pub(crate) fn works(&mut self, start: Instant, kinds: &[Kind], count: usize) {
        for kind in kinds {
            let is_good = |entry: &Entry| entry.kind == *kind && entry.succeeded();
            self.until("requests succeed", start, count, is_good);
        }
    }

    /// Waits until some more additions are acknowledged.
    #[track_caller]
    pub(crate) fn goes_on(&mut self) {
        let is_new = |entry: &Entry| entry.added.is_some();
        self.until("additions go on", Instant::now(), ENOUGH, is_new);
    }

    /// How long after `start` the first request of a kind succeeded.
    #[track_caller]
    pub(crate) fn first_success(&self, start: Instant, kind: Kind) -> Duration {
        let entries = self.entries();
        let mut good = entries.iter().filter(|entry| entry.kind == kind && entry.succeeded());
        good.find(|entry| entry.ended >= start).expect("one succeeds").ended - start
    }

    /// Fails if a client has.
    fn look(&mut self) {
        for thread in self.threads.extract_if(.., |thread| thread.is_finished()) {
            thread.join().unwrap_or_else(|failure| resume_unwind(failure));
        }
    }

    /// Ends the clients and waits for them. What has an idempotency key is acknowledged then, unless the service ended.
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

    /// Adds animals like no others, and now and then again what has an idempotency key.
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

    /// Sends an addition that has an idempotency key until it is acknowledged, and any other once; whether it is.
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

    /// Looks for what was acknowledged last, which is there, and reads the first page, which keeps what it had.
    fn read(&self) {
        let (mut tag, mut first) = (None::<String>, Vec::new());
        while !self.is_over() {
            if let Some(known) = self.journal.last_added() {
                let found = self.get(&format!("/v1/pets/{}", id_of(&known)), None);
                assert!(found.is_none_or(|found| found.json() == known), "not as it was: {known}");
            }
            let page = self.get("/v1/pets?limit=5", tag.as_deref());
            if let Some(page) = page.filter(|page| page.status == 200) {
                let before = std::mem::replace(&mut first, pets(&page));
                let is_kept = first.starts_with(&before) || self.outages == Outages::Forget;
                assert!(is_kept, "{before:?} became {first:?}");
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

    /// Sends the same request again and again.
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

    /// Sends a request: the answer if it succeeds. Holds that nothing else becomes of it than may.
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
