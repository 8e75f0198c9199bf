//! Two services under load on one cluster, and the assertions after each event.

use std::{
    thread,
    time::{Duration, Instant},
};

use petstore_testing::Etcd;

use super::store;
use crate::{
    failover::times::{KNOWN, RECOVERY, deadline, hold},
    load::{
        Load, NEED_THE_STORE, Outages, WRITERS,
        journal::{Entry, Journal, Kind},
    },
    support::server::{Launch, Server},
};

/// The number of requests of each kind that succeed before and after an event.
const ENOUGH: usize = 20;

struct Service {
    load: Load,
    server: Server,
}

pub(crate) struct Trial {
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
        let mut trial = Self { services: services.collect() };
        trial.works(Instant::now());
        trial
    }

    /// Waits until [`ENOUGH`] requests of each kind that needs the store have begun after `start` and succeeded.
    #[track_caller]
    pub(crate) fn works(&mut self, start: Instant) {
        for service in &mut self.services {
            service.load.works(start, &NEED_THE_STORE, ENOUGH);
        }
    }

    /// Runs `event`, and watches the services for at least `watched`. Asserts that each service adds again within
    /// [`RECOVERY`], and refuses no addition after that.
    #[track_caller]
    pub(crate) fn happens(&mut self, what: &str, watched: Duration, event: impl FnOnce()) {
        event();
        let start = Instant::now();
        self.works(start);
        thread::sleep(watched.saturating_sub(start.elapsed()));
        for Service { load, .. } in &self.services {
            hold(&format!("{what}: writes again"), refused_for(load, start), RECOVERY);
        }
    }

    /// Asserts that no acknowledged animal is lost or doubled, no call took too long, and `/livez` never failed.
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
                hold(&format!("{what}: longest {kind:?}"), longest, deadline(kind));
            }
            assert!(of(Kind::Live).all(Entry::succeeded), "{what}: a request to /livez failed");
        }
        let all = Journal::merged(self.services.iter().map(|service| service.load.journal()));
        all.is_settled_by(what, &self.services[0].server.client());
        all.is_kept_by(&self.services[1].server.client());
    }
}

/// Returns the time from `start` until the last refusal of an addition, or until the first success if that is later.
fn refused_for(load: &Load, start: Instant) -> Duration {
    let entries = load.entries();
    let after = entries.iter().filter(|entry| entry.kind == Kind::Add && entry.began >= start);
    let first = after.clone().filter(|entry| entry.succeeded()).map(|entry| entry.ended).min();
    let refused = after.filter(|entry| !entry.succeeded()).map(|entry| entry.ended);
    refused.chain(first).max().map_or(Duration::MAX, |ended| ended - start)
}
