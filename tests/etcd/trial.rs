//! Two services under load on one cluster, and what must be true of them whatever happens to it.

use std::{
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Bound, Etcd, say};

use super::{store, tail::Tail};
use crate::{
    failover::{
        account,
        journal::{Entry, Journal, Kind, NEED_THE_STORE},
        load::{Load, WRITERS},
        times::{RECOVERY, deadline, hold},
    },
    support::{
        additions::everything_is_there,
        server::{Launch, Server},
    },
};

/// Requests of each kind that succeed before and after an event.
const ENOUGH: usize = 20;
/// Less than this share of a processor's time left over, in percent: the machine was busy with other things.
const IDLE: u64 = 5;

struct Service {
    server: Server,
    load: Load,
    tail: Tail,
}

pub(crate) struct Trial {
    bound: Bound,
    services: Vec<Service>,
}

impl Trial {
    pub(crate) fn start(etcd: &Etcd) -> Self {
        let store = store(etcd, "zoo");
        let key = store.new_key("kept-in-the-store");
        let loads = [0, WRITERS].map(|first| {
            let server = Launch::on(&store).start();
            let load = Load::start_as(first..first + WRITERS, &server.client(), &key, false);
            (server, load)
        });
        let journals = loads.each_ref().map(|(_, load)| Arc::clone(&load.journal));
        let services = loads.into_iter().map(|(server, load)| {
            let tail = Tail::follow(&server.client(), journals.to_vec());
            Service { server, load, tail }
        });
        let trial = Self { bound: Bound::begin(), services: services.collect() };
        trial.works(Instant::now());
        trial
    }

    fn journals(&self) -> impl Iterator<Item = &Journal> {
        self.services.iter().map(|service| &*service.load.journal)
    }

    /// Waits until requests of every kind have succeeded that began after `start`.
    #[track_caller]
    pub(crate) fn works(&self, start: Instant) {
        for journal in self.journals() {
            journal.wait_for(start, &NEED_THE_STORE, ENOUGH);
        }
    }

    /// Something happens. How long after it an addition was still refused, or none had succeeded yet, by
    /// either service, within `watched` or the time that it takes until all works again.
    #[track_caller]
    pub(crate) fn happens(&self, what: &str, watched: Duration, event: impl FnOnce()) -> Outcome {
        event();
        let (start, before) = (Instant::now(), Processor::now());
        self.works(start);
        let busy = Processor::now().is_busy_since(&before);
        thread::sleep(watched.saturating_sub(start.elapsed()));
        let took = self.journals().map(|journal| refused_for(journal, start)).max();
        let took = took.unwrap_or_default();
        say(&format!("etcd: {what}: writes again after {took:.2?} (the aim is {RECOVERY:?})"));
        Outcome { took, busy }
    }

    /// Nothing that was acknowledged is lost, nothing is there twice, and no call took too long.
    #[track_caller]
    pub(crate) fn ends(self, what: &str) {
        let (mut all, mut servers) = (Vec::new(), Vec::new());
        for Service { server, load, tail } in self.services {
            let journal = Arc::clone(&load.journal);
            all.extend(load.stop());
            assert!(tail.stop() > ENOUGH, "{what}: the end of the list was not read");
            for (kind, longest) in journal.longest() {
                hold(&self.bound, &format!("{what}: longest {kind:?}"), longest, deadline(kind));
            }
            let is_live = |entry: &&Entry| entry.kind == Kind::Live;
            assert!(journal.entries().iter().filter(is_live).all(Entry::succeeded), "{what}");
            servers.push(server);
        }
        account::balances(what, &servers[0].client(), &all);
        everything_is_there(&servers[1].client(), &all);
    }
}

/// Until when after `start` an addition that began after it was refused, or none had succeeded.
fn refused_for(journal: &Journal, start: Instant) -> Duration {
    let entries = journal.entries();
    let after = entries.iter().filter(|entry| entry.kind == Kind::Add && entry.began >= start);
    let first = after.clone().filter(|entry| entry.succeeded()).map(|entry| entry.ended).min();
    let refused = after.filter(|entry| !entry.succeeded()).map(|entry| entry.ended);
    refused.chain(first).max().map_or(Duration::MAX, |ended| ended - start)
}

/// How an event went.
pub(crate) struct Outcome {
    took: Duration,
    /// Whether others had the processors meanwhile.
    busy: bool,
}

/// Holds that `trial` has no event after which writing takes longer than [`RECOVERY`]. It may once, if the
/// machine had no time to spare meanwhile: then all is tried again. Nothing else is ever excused.
#[track_caller]
pub(crate) fn recovers(what: &str, mut trial: impl FnMut() -> Vec<Outcome>) {
    for is_last in [false, true] {
        let slow: Vec<_> = trial().into_iter().filter(|event| event.took > RECOVERY).collect();
        if slow.is_empty() {
            return;
        }
        let excused = !is_last && slow.iter().all(|event| event.busy);
        assert!(excused, "{what}: no addition for {:?}", slow[0].took);
        say(&format!("etcd: {what}: the machine was busy; all is tried again"));
    }
}

/// The time of all processors since the start of the machine, in ticks (proc(5), `/proc/stat`).
struct Processor {
    all: u64,
    idle: u64,
}

impl Processor {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap();
        let line = text.lines().next().unwrap();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
        Self { all: ticks.iter().take(8).sum(), idle: ticks[3] + ticks[4] }
    }

    fn is_busy_since(&self, before: &Self) -> bool {
        (self.idle - before.idle) * 100 < (self.all - before.all) * IDLE
    }
}
