//! A reader of the end of the list, which may never go back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    failover::{journal::Journal, times::KNOWN},
    support::{
        answer::Answer,
        catalogue::{id_of, pets},
        client::Client,
    },
};

const BREATH: Duration = Duration::from_millis(5);

/// What was seen of one page of the list.
struct Page {
    target: String,
    /// The animals behind this one are listed.
    after: i64,
    ids: Vec<i64>,
    tag: Option<String>,
}

impl Page {
    fn first() -> Self {
        Self::behind("/v1/pets?limit=100".to_owned(), i64::MIN)
    }

    fn behind(target: String, after: i64) -> Self {
        Self { target, after, ids: Vec::new(), tag: None }
    }

    /// Takes what came back: with the animals that were there before, and a 304 as the same again.
    #[track_caller]
    fn sees(&mut self, answer: &Answer) {
        if answer.status == 304 {
            return;
        }
        let ids: Vec<i64> = pets(answer).iter().map(id_of).collect();
        let lacks: Vec<_> = self.ids.iter().filter(|id| !ids.contains(id)).collect();
        assert!(lacks.is_empty(), "a read goes back: {lacks:?} of {:?}: {answer:?}", self.target);
        self.tag = answer.header("etag").map(str::to_owned);
        self.ids = ids;
    }

    /// Holds that nothing is missing that had been acknowledged by whichever service at `when`.
    #[track_caller]
    fn has_all(&self, journals: &[Arc<Journal>], when: Instant, is_last: bool) {
        let end = self.ids.last().filter(|_| !is_last).copied().unwrap_or(i64::MAX);
        for journal in journals {
            let known = journal.acknowledged_by(when, self.after);
            let missing = known.iter().filter(|id| **id <= end && !self.ids.contains(id));
            let missing: Vec<_> = missing.collect();
            assert!(missing.is_empty(), "a stale page: {missing:?} of {:?}", self.target);
        }
    }
}

/// Reads one page at the end of the list again and again, half of the time if it has changed, and goes on to
/// the next one when there is one.
pub(crate) struct Tail {
    stopping: Arc<AtomicBool>,
    reader: JoinHandle<usize>,
}

impl Tail {
    /// Reads from one service what is written to all of `journals`.
    pub(crate) fn follow(client: &Client, journals: Vec<Arc<Journal>>) -> Self {
        let (client, stopping) = (client.clone(), Arc::<AtomicBool>::default());
        let stop = Arc::clone(&stopping);
        let reader = thread::spawn(move || {
            let (mut page, mut reads) = (Page::first(), 0);
            while !stop.load(Ordering::Relaxed) {
                reads += usize::from(read(&client, &journals, &mut page, reads % 2 == 0));
                thread::sleep(BREATH);
            }
            reads
        });
        Self { stopping, reader }
    }

    /// Ends it: how often it read.
    pub(crate) fn stop(self) -> usize {
        self.stopping.store(true, Ordering::Relaxed);
        self.reader.join().unwrap()
    }
}

/// Whether the service could say anything.
fn read(client: &Client, journals: &[Arc<Journal>], page: &mut Page, if_changed: bool) -> bool {
    let began = Instant::now();
    let tag = page.tag.iter().filter(|_| if_changed);
    let call = tag.fold(client.get(&page.target), |call, tag| call.header("if-none-match", tag));
    let answer = call.send();
    if ![200, 304].contains(&answer.status) {
        answer.refuses(503, "unavailable");
        return false;
    }
    page.sees(&answer);
    let next = answer.link("next");
    let known = began.checked_sub(KNOWN).unwrap_or(began);
    page.has_all(journals, known, next.is_none() && answer.status == 200);
    if let Some(next) = next {
        let last = page.ids.last().copied().unwrap_or(page.after);
        *page = Page::behind(next, last);
    }
    true
}
