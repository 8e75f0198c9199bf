//! One writer, reader or walker.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    additions::Addition,
    catalogue::{id_of, pets},
    client::Client,
};

/// A rest after each request, so that a move has something left of a small machine.
const REST: Duration = Duration::from_millis(3);

/// An animal that was acknowledged.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) id: i64,
    /// The service that did.
    pub(crate) service: usize,
}

pub(crate) struct Worker {
    pub(crate) service: usize,
    pub(crate) client: Client,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) known: Arc<Mutex<Vec<Known>>>,
}

impl Worker {
    fn goes_on(&self) -> bool {
        thread::sleep(REST);
        !self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn write(self, name: &str, with_key: bool) -> Vec<Addition> {
        let mut additions = Vec::new();
        while self.goes_on() {
            let n = additions.len();
            let mut addition = Addition::new(&format!("{name} n{n}"), n, with_key);
            addition.acknowledged = Some(addition.call(&self.client).send().is(201).json());
            let known = |pet| Known { id: id_of(pet), service: self.service };
            self.known.lock().unwrap().extend(addition.acknowledged.iter().map(known));
            additions.push(addition);
        }
        additions
    }

    /// What was acknowledged is there at once, on whichever service, and the first page is always the same.
    pub(crate) fn read(self) {
        const FIRST: &str = "/v1/pets?limit=5";
        let first = self.client.get(FIRST).send().is(200);
        let (mut tag, first) = (first.must("etag").to_owned(), pets(&first));
        while self.goes_on() {
            let last = self.known.lock().unwrap().last().copied();
            if let Some(Known { id, .. }) = last {
                let found = self.client.get(&format!("/v1/pets/{id}")).send();
                assert_eq!(id_of(&found.is(200).json()), id);
            }
            let again = self.client.get(FIRST).header("if-none-match", &tag).send();
            if again.status != 304 {
                again.must("etag").clone_into(&mut tag);
                assert_eq!(pets(&again.is(200)), first);
            }
        }
    }

    /// A walk meets everything that this service has acknowledged before it began. What another one has may
    /// come a moment later: pages are cached.
    pub(crate) fn walk(self) {
        while self.goes_on() {
            let before = self.known.lock().unwrap().clone();
            let all = self.everything();
            let ids: HashSet<i64> = all.iter().map(id_of).collect();
            assert_eq!(ids.len(), all.len(), "an animal is met twice");
            let own = before.into_iter().filter(|known| known.service == self.service);
            let missed: Vec<_> = own.map(|known| known.id).filter(|id| !ids.contains(id)).collect();
            assert!(missed.is_empty(), "a walk has missed {missed:?}");
        }
    }

    fn everything(&self) -> Vec<Value> {
        let (mut all, mut next) = (Vec::new(), Some("/v1/pets?limit=100".to_owned()));
        while let Some(target) = next {
            let page = self.client.get(&target).send().is(200);
            next = page.link("next");
            all.extend(pets(&page));
        }
        all
    }
}
