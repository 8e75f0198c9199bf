//! Two services under load on one cluster, and what must be true of them whatever happens to it.

use std::{
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Bound, Etcd, say};

use super::store;
use crate::{
    failover::times::{KNOWN, RECOVERY, deadline, hold},
    load::{
        Load, NEED_THE_STORE, Outages, WRITERS,
        journal::{Entry, Journal, Kind},
    },
    support::server::{Launch, Server},
};

/// Requests of each kind that succeed before and after an event.
const ENOUGH: usize = 20;
/// Less than this share of a processor's time left over, in percent: the machine was busy with other things.
const IDLE: u64 = 5;

struct Service {
    load: Load,
    server: Server,
}

pub(crate) struct Trial {
    bound: Bound,
    services: Vec<Service>,
}

impl Trial {
    pub(crate) fn start(etcd: &Etcd) -> Self {
        let store = store(etcd, "zoo");
        let key = store.new_key("kept-in-the-store");
        let journals = [Journal::new(), Journal::new()];
        let services = journals.iter().map(|journal| {
            let server = Launch::on(&store).start();
            let load = Load::on(&server.client(), journal, Outages::Refuse);
            let load = load.writers(WRITERS, Some(&key)).readers(2).probes(&key);
            Service { load: load.tail(&journals, KNOWN), server }
        });
        let mut trial = Self { bound: Bound::begin(), services: services.collect() };
        trial.works(Instant::now());
        trial
    }

    /// Waits until requests of every kind have succeeded that began after `start`.
    #[track_caller]
    pub(crate) fn works(&mut self, start: Instant) {
        for service in &mut self.services {
            service.load.works(start, &NEED_THE_STORE, ENOUGH);
        }
    }

    /// Something happens. How long after it an addition was still refused, or none had succeeded yet, by
    /// either service, within `watched` or the time that it takes until all works again.
    #[track_caller]
    pub(crate) fn happens(
        &mut self,
        what: &str,
        watched: Duration,
        event: impl FnOnce(),
    ) -> Outcome {
        event();
        let (start, bound) = (Instant::now(), Bound::begin());
        self.works(start);
        let busy = bound.has_less_idle_than(IDLE);
        thread::sleep(watched.saturating_sub(start.elapsed()));
        let took = self.services.iter().map(|service| refused_for(&service.load, start)).max();
        let took = took.unwrap_or_default();
        say(&format!("etcd: {what}: writes again after {took:.2?} (the aim is {RECOVERY:?})"));
        Outcome { took, busy }
    }

    /// Nothing that was acknowledged is lost, nothing is there twice, and no call took too long.
    #[track_caller]
    pub(crate) fn ends(mut self, what: &str) {
        for Service { load, .. } in &mut self.services {
            load.stop();
            let entries = load.entries();
            let of = |kind: Kind| entries.iter().filter(move |entry| entry.kind == kind);
            assert!(
                of(Kind::ReadTail).count() > ENOUGH,
                "{what}: the end of the list was not read"
            );
            for (kind, longest) in load.journal().longest() {
                hold(&self.bound, &format!("{what}: longest {kind:?}"), longest, deadline(kind));
            }
            assert!(of(Kind::Live).all(Entry::succeeded), "{what}");
        }
        let all = Journal::merged(self.services.iter().map(|service| service.load.journal()));
        all.is_settled_by(what, &self.services[0].server.client());
        all.is_kept_by(&self.services[1].server.client());
    }
}

/// Until when after `start` an addition that began after it was refused, or none had succeeded.
fn refused_for(load: &Load, start: Instant) -> Duration {
    let entries = load.entries();
    let after = entries.iter().filter(|entry| entry.kind == Kind::Add && entry.began >= start);
    let first = after.clone().filter(|entry| entry.succeeded()).map(|entry| entry.ended).min();
    let refused = after.filter(|entry| !entry.succeeded()).map(|entry| entry.ended);
    refused.chain(first).max().map_or(Duration::MAX, |ended| ended - start)
}

/// How an event went.
pub(crate) struct Outcome {
    took: Duration,
    /// `true` if others had the processors meanwhile.
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
