//! A journal of the requests to a service, and of their outcomes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::say;
use serde_json::{Value, json};

use super::history;
use crate::support::{
    answer::Answer,
    catalogue::{STATUSES, everything},
    client::{Call, Client},
};

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An addition, with the suite's own API key.
    Add,
    /// An addition with an API key of the store.
    AddWithStoredKey,
    /// A page, or one animal, with the suite's own API key.
    Read,
    /// The last page of the list.
    ReadTail,
    /// A page, with an API key of the store.
    ReadWithStoredKey,
    /// `/readyz`.
    Ready,
    /// `/livez`.
    Live,
}

/// The addition of a unique animal.
#[derive(Clone, Debug)]
pub(crate) struct Addition {
    pub(crate) pet: Value,
    /// The idempotency key.
    pub(crate) key: Option<String>,
    /// The API key; `None` for the suite's own.
    pub(crate) api_key: Option<String>,
}

impl Addition {
    /// Makes an addition. `number` decides its category and status.
    pub(crate) fn new(name: &str, number: usize, with_key: bool) -> Self {
        let mut pet = json!({"name": name, "categoryId": number});
        if let Some(status) = STATUSES.get(number % 4) {
            pet["status"] = (*status).into();
        }
        let key = with_key.then(|| name.replace(' ', "-"));
        Self { pet, key, api_key: None }
    }

    pub(crate) const fn kind(&self) -> Kind {
        if self.api_key.is_some() { Kind::AddWithStoredKey } else { Kind::Add }
    }

    /// Builds the request. Every call builds an equal request.
    pub(crate) fn call(&self, client: &Client) -> Call {
        let call = client.add(&self.pet);
        let call = self.key.iter().fold(call, |call, key| call.header("idempotency-key", key));
        self.api_key.iter().fold(call, |call, key| call.key(key))
    }
}

/// One request and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    /// The origin of the service.
    pub(crate) service: String,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    /// 0 if no answer came.
    pub(crate) status: u16,
    /// `true` if the answer repeats the answer to an earlier request.
    pub(crate) replayed: bool,
    pub(crate) addition: Option<Addition>,
    /// The animal of a 201.
    pub(crate) added: Option<Value>,
    /// The result of the journal's function `measure` when the request ended.
    pub(crate) mark: usize,
}

impl Entry {
    /// Makes an entry of an addition that is acknowledged now.
    pub(crate) fn acknowledged(addition: Addition, added: Value) -> Self {
        let (service, now) = (String::new(), Instant::now());
        let (kind, addition, added) = (addition.kind(), Some(addition), Some(added));
        let (status, replayed, mark) = (201, false, 0);
        Self { kind, service, began: now, ended: now, status, replayed, addition, added, mark }
    }

    pub(crate) fn took(&self) -> Duration {
        self.ended - self.began
    }

    pub(crate) fn succeeded(&self) -> bool {
        [200, 201, 304].contains(&self.status)
    }
}

/// All requests, each added when it ended.
pub(crate) struct Journal {
    entries: Mutex<Vec<Entry>>,
    measure: Box<dyn Fn() -> usize + Send + Sync>,
}

impl Journal {
    pub(crate) fn new() -> Arc<Self> {
        Self::measuring(|| 0)
    }

    /// Makes a journal that stores the result of `measure` in each entry.
    pub(crate) fn measuring(measure: impl Fn() -> usize + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), measure: Box::new(measure) })
    }

    /// Makes a journal with all entries of several other journals.
    pub(crate) fn merged<'j>(journals: impl IntoIterator<Item = &'j Arc<Self>>) -> Arc<Self> {
        let merged = Self::new();
        journals.into_iter().for_each(|journal| merged.note(journal.entries()));
        merged
    }

    /// Adds the animals that a store contains already, as acknowledged additions.
    pub(crate) fn note_stored(&self, pets: Vec<Value>) {
        self.note(pets.into_iter().map(|added| {
            let mut pet = added.clone();
            pet.as_object_mut().unwrap().remove("id");
            Entry::acknowledged(Addition { pet, key: None, api_key: None }, added)
        }));
    }

    fn note(&self, entries: impl IntoIterator<Item = Entry>) {
        self.entries.lock().unwrap().extend(entries);
    }

    /// Sends a request and records it.
    #[track_caller]
    pub(crate) fn send(
        &self,
        client: &Client,
        kind: Kind,
        call: Call,
        addition: Option<&Addition>,
    ) -> Result<Answer, reqwest::Error> {
        let (service, began) = (client.origin().to_owned(), Instant::now());
        let answer = call.try_send();
        let (ended, mark) = (Instant::now(), (self.measure)());
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        let has_replay = |answer: &Answer| answer.header("idempotency-replayed").is_some();
        let replayed = answer.as_ref().is_ok_and(has_replay);
        let added = answer.as_ref().ok().filter(|_| status == 201).map(Answer::json);
        let addition = addition.cloned();
        self.note([Entry { kind, service, began, ended, status, replayed, addition, added, mark }]);
        answer
    }

    /// Sends an addition and records it. Panics if there is no answer.
    #[track_caller]
    pub(crate) fn add(&self, client: &Client, addition: &Addition) -> Answer {
        self.send(client, addition.kind(), addition.call(client), Some(addition)).unwrap()
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }

    /// Calls `look` with the entries.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.entries.lock().unwrap())
    }

    /// Returns the animal that was acknowledged last.
    pub(crate) fn last_added(&self) -> Option<Value> {
        self.with(|entries| entries.iter().rev().find_map(|entry| entry.added.clone()))
    }

    /// Returns the longest time of a request, by kind.
    pub(crate) fn longest(&self) -> BTreeMap<Kind, Duration> {
        let mut longest = BTreeMap::new();
        for entry in self.entries() {
            let most: &mut Duration = longest.entry(entry.kind).or_default();
            *most = entry.took().max(*most);
        }
        longest
    }

    /// Turns all acknowledgements since `moment` into additions in doubt.
    pub(crate) fn doubt_since(&self, moment: Instant) {
        for entry in self.entries.lock().unwrap().iter_mut().filter(|entry| entry.ended >= moment) {
            (entry.status, entry.added) = (0, None);
        }
    }

    /// Returns each addition with an idempotency key once.
    pub(crate) fn keyed(&self) -> Vec<Addition> {
        let additions = self.entries().into_iter().filter_map(|entry| entry.addition);
        let keyed = additions.filter_map(|addition| Some((addition.key.clone()?, addition)));
        keyed.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Repeats at most `most` of the additions with an idempotency key, as a client does after a lost answer. Each must
    /// be acknowledged.
    pub(crate) fn repeat(&self, client: &Client, most: usize) {
        let keyed = self.keyed();
        let keyed = &keyed[..keyed.len().min(most)];
        thread::scope(|scope| {
            for part in keyed.chunks(keyed.len().div_ceil(8).max(1)) {
                let repeat = |addition| drop(self.add(client, addition).is(201));
                scope.spawn(move || part.iter().for_each(repeat));
            }
        });
    }

    /// Returns the faults of a service's list, given this journal.
    pub(crate) fn faults(&self, client: &Client) -> Vec<String> {
        history::faults(&self.entries(), &everything(client))
    }

    /// Asserts that a service has every acknowledged animal once and unchanged. Other animals must be from additions in
    /// doubt.
    #[track_caller]
    pub(crate) fn is_kept_by(&self, client: &Client) {
        let faults = self.faults(client);
        assert!(
            faults.is_empty(),
            "{} faults: {:#?}",
            faults.len(),
            &faults[..faults.len().min(9)]
        );
    }

    /// Repeats all additions with idempotency keys. Asserts [`is_kept_by`](Self::is_kept_by) before and afterwards.
    /// Prints the numbers of acknowledged additions, of repeats, and of additions in doubt.
    #[track_caller]
    pub(crate) fn is_settled_by(&self, what: &str, client: &Client) {
        self.is_kept_by(client);
        self.repeat(client, usize::MAX);
        self.is_kept_by(client);
        let count = |of: &dyn Fn(&Entry) -> bool| {
            self.with(|entries| entries.iter().filter(|entry| of(entry)).count())
        };
        say(&format!(
            "{what}: {} additions were acknowledged, {} of them as repeats; {} had no answer or a refusal",
            count(&|entry| entry.added.is_some()),
            count(&|entry| entry.replayed),
            count(&|entry| entry.addition.is_some() && entry.added.is_none()),
        ));
    }
}
