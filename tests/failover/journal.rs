//! What happened to each request, and when.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{answer::Answer, catalogue::id_of, client::Call, wait};

/// What a request was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An addition, with the suite's own API key.
    Add,
    /// An addition with an API key out of the store.
    AddWithStoredKey,
    /// A page, or one animal, with the suite's own API key.
    Read,
    /// A page, with an API key out of the store.
    ReadWithStoredKey,
    /// `/readyz`.
    Ready,
    /// `/livez`.
    Live,
}

/// Those that cannot succeed without the store.
pub(crate) const NEED_THE_STORE: [Kind; 5] =
    [Kind::Add, Kind::AddWithStoredKey, Kind::Read, Kind::ReadWithStoredKey, Kind::Ready];

/// One request and its status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) status: u16,
    /// Whether it was added before, by a try that had no answer.
    pub(crate) replayed: bool,
}

impl Entry {
    pub(crate) fn took(&self) -> Duration {
        self.ended - self.began
    }

    pub(crate) fn succeeded(&self) -> bool {
        [200, 201].contains(&self.status)
    }
}

/// Every request, in the order in which they ended.
#[derive(Default)]
pub(crate) struct Journal {
    entries: Mutex<Vec<Entry>>,
    /// The animals that were acknowledged, and since when.
    acknowledged: Mutex<Vec<(Instant, Value)>>,
}

impl Journal {
    /// Sends a request, which is answered whatever happens to the store, and notes it.
    pub(crate) fn send(&self, kind: Kind, call: Call) -> Answer {
        let began = Instant::now();
        let answer = call.send();
        let (ended, status) = (Instant::now(), answer.status);
        let replayed = answer.header("idempotency-replayed").is_some();
        let entry = Entry { kind, began, ended, status, replayed };
        self.entries.lock().unwrap().push(entry);
        answer
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }

    pub(crate) fn acknowledge(&self, pet: Value) {
        self.acknowledged.lock().unwrap().push((Instant::now(), pet));
    }

    /// An animal that must be there.
    pub(crate) fn acknowledged(&self) -> Option<Value> {
        self.acknowledged.lock().unwrap().last().map(|(_, pet)| pet.clone())
    }

    /// Waits until requests that began after `start` have succeeded, `count` of each kind.
    #[track_caller]
    pub(crate) fn wait_for(&self, start: Instant, kinds: &[Kind], count: usize) {
        wait::until("requests succeed", || {
            let entries = self.entries();
            let good = |kind: Kind| {
                let of_kind = entries.iter().filter(|entry| entry.kind == kind);
                of_kind.filter(|entry| entry.began >= start && entry.succeeded()).count()
            };
            kinds.iter().all(|kind| good(*kind) >= count)
        });
    }

    /// The identifiers of the animals that must be there at `when`, beyond `after`.
    pub(crate) fn acknowledged_by(&self, when: Instant, after: i64) -> Vec<i64> {
        let all = self.acknowledged.lock().unwrap();
        let known = all.iter().filter(|(since, _)| *since <= when).map(|(_, pet)| id_of(pet));
        known.filter(|id| *id > after).collect()
    }

    /// Waits until requests that began after `start` have failed, one at least of each kind.
    #[track_caller]
    pub(crate) fn wait_for_failures(&self, start: Instant, kinds: &[Kind]) {
        wait::until("requests fail", || {
            let entries = self.entries();
            let fails = |entry: &Entry| entry.began >= start && entry.status == 503;
            let failed = |kind: &Kind| entries.iter().any(|e| e.kind == *kind && fails(e));
            kinds.iter().all(failed)
        });
        // Some of what comes later, too.
        thread::sleep(Duration::from_millis(300));
    }

    /// How long after `start` the first request of this kind succeeded.
    #[track_caller]
    pub(crate) fn first_success(&self, start: Instant, kind: Kind) -> Duration {
        let entries = self.entries();
        let mut good = entries.iter().filter(|entry| entry.kind == kind && entry.succeeded());
        good.find(|entry| entry.ended >= start).expect("one succeeds").ended - start
    }

    /// The longest time that any request took, by kind.
    pub(crate) fn longest(&self) -> BTreeMap<Kind, Duration> {
        let mut longest = BTreeMap::new();
        for entry in self.entries() {
            let most: &mut Duration = longest.entry(entry.kind).or_default();
            *most = entry.took().max(*most);
        }
        longest
    }
}
