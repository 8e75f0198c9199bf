//! A reader of the end of the list. Its reads never go back in time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::journal::{Entry, Journal};
use crate::support::{
    answer::Answer,
    catalogue::{id_of, pets},
    client::{Call, Client},
};

/// The last known page of the list. The next page replaces it once a next page exists.
pub(super) struct Tail {
    journals: Vec<Arc<Journal>>,
    lag: Duration,
    target: String,
    /// The identifier before the first animal of the page.
    after: i64,
    ids: Vec<i64>,
    tag: Option<String>,
    reads: usize,
}

impl Tail {
    /// Begins at the first page. `Load::tail` explains the parameters.
    pub(super) fn new(journals: Vec<Arc<Journal>>, lag: Duration) -> Self {
        let target = "/v1/pets?limit=100".to_owned();
        Self { journals, lag, target, after: i64::MIN, ids: Vec::new(), tag: None, reads: 0 }
    }

    /// Builds the request for the page. Every second request is conditional.
    pub(super) fn call(&mut self, client: &Client) -> Call {
        self.reads += 1;
        let tag = self.tag.iter().filter(|_| self.reads.is_multiple_of(2));
        tag.fold(client.get(&self.target), |call, tag| call.header("if-none-match", tag))
    }

    /// Asserts that the page has all animals of the previous read, and all animals that `Load::tail` requires. A 304
    /// stands for the page of the previous read.
    #[track_caller]
    pub(super) fn sees(&mut self, answer: &Answer, began: Instant, service: &str) {
        if answer.status == 200 {
            let ids: Vec<i64> = pets(answer).iter().map(id_of).collect();
            let lacks: Vec<_> = self.ids.iter().filter(|id| !ids.contains(id)).collect();
            assert!(
                lacks.is_empty(),
                "a later read lacks the animals {lacks:?} of {:?}: {answer:?}",
                self.target
            );
            self.tag = answer.header("etag").map(str::to_owned);
            self.ids = ids;
        }
        let next = answer.link("next");
        let is_last = next.is_none() && answer.status == 200;
        let end = self.ids.last().filter(|_| !is_last).copied().unwrap_or(i64::MAX);
        let must_be_there = |entry: &Entry| {
            let is_known = self.lag > Duration::ZERO || entry.service == service;
            is_known && entry.ended + self.lag <= began
        };
        for journal in &self.journals {
            let missing: Vec<i64> = journal.with(|entries| {
                let known = entries.iter().filter(|entry| must_be_there(entry));
                let ids = known.filter_map(|entry| Some(id_of(entry.added.as_ref()?)));
                let here = ids.filter(|id| *id > self.after && *id <= end);
                here.filter(|id| !self.ids.contains(id)).collect()
            });
            assert!(missing.is_empty(), "a stale page lacks {missing:?}: {:?}", self.target);
        }
        if let Some(target) = next {
            self.after = self.ids.last().copied().unwrap_or(self.after);
            (self.target, self.ids, self.tag) = (target, Vec::new(), None);
        }
    }
}
