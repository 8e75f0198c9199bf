//! An outage under load, and the assertions for each outage.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    serve,
    times::{CALL, KNOWN, KNOWN_READY, RECOVERY, deadline, hold},
};
use crate::load::{
    Load, NEED_THE_STORE, Outages, WRITERS,
    journal::{Entry, Journal, Kind},
};

/// An outage of a service's store.
pub(crate) struct Outage<'a> {
    /// Its name.
    pub(crate) what: &'a str,
    /// The service's store.
    pub(crate) url: &'a str,
    /// Begins the outage.
    pub(crate) fail: &'a dyn Fn(),
    /// The shortest duration of the outage, which lasts at least until the service has refused reads.
    pub(crate) lasts: Duration,
    /// Ends the outage. The service must work again within [`RECOVERY`].
    pub(crate) mend: &'a dyn Fn(),
}

/// The number of requests of each kind that must succeed before and after the outage.
const BEFORE: usize = 40;
const AFTER: usize = 40;

/// The kinds of request that fail when a connection breaks, because they do not wait for the store's return.
const READS: [Kind; 2] = [Kind::Read, Kind::Ready];

impl Outage<'_> {
    /// Asserts that a service under load survives the outage, and loses nothing.
    #[track_caller]
    pub(crate) fn is_survived(&self) {
        let (server, key) = serve(self.url);
        let client = server.client();
        let load = Load::on(&client, &Journal::new(), Outages::Refuse);
        let mut load = load.writers(WRITERS, Some(&key)).readers(2).probes(&key);
        load.works(Instant::now(), &NEED_THE_STORE, BEFORE);
        (self.fail)();
        let failed = Instant::now();
        for kind in READS {
            let is_refused = |entry: &Entry| entry.kind == kind && entry.status == 503;
            load.until(&format!("{kind:?} is refused"), failed, 1, is_refused);
        }
        // Leaves time for refusals of the other kinds.
        thread::sleep(Duration::from_millis(300));
        thread::sleep(self.lasts.saturating_sub(failed.elapsed()));
        let mending = Instant::now();
        (self.mend)();
        load.works(Instant::now(), &NEED_THE_STORE, AFTER);
        load.stop();
        self.was_told(load.journal(), |entry| {
            let known = if entry.kind == Kind::Ready { KNOWN_READY } else { KNOWN };
            let was_known = entry.began <= failed + known && entry.succeeded();
            entry.began >= failed && entry.ended <= mending && !was_known
        });
        self.was_short(&load, mending);
        load.journal().is_settled_by(self.what, &client);
    }

    /// Asserts that each request for the store that `in_outage` selects was refused, that no request took too long, and
    /// that `/livez` always answered.
    #[track_caller]
    fn was_told(&self, journal: &Journal, in_outage: impl Fn(&Entry) -> bool) {
        let what = self.what;
        let entries = journal.entries();
        for kind in NEED_THE_STORE {
            let during = entries.iter().filter(|entry| entry.kind == kind && in_outage(entry));
            let during: Vec<_> = during.collect();
            // In a short outage, every addition may have begun before the outage or may still be waiting.
            let known = READS.contains(&kind) || self.lasts > 2 * CALL;
            assert!(!known || !during.is_empty(), "{what}: no {kind:?} in the outage");
            // The client checks that a 503 has Retry-After, and the three fields of an error.
            assert!(during.iter().all(|entry| entry.status == 503), "{what}: {during:?}");
        }
        let mut live = entries.iter().filter(|entry| entry.kind == Kind::Live);
        assert!(live.all(|entry| entry.status == 200), "{what}: a request to /livez failed");
        for (kind, longest) in journal.longest() {
            hold(&format!("{what}: longest {kind:?}"), longest, deadline(kind));
        }
    }

    /// Asserts that a request of each kind succeeded within [`RECOVERY`] after `mending`.
    #[track_caller]
    fn was_short(&self, load: &Load, mending: Instant) {
        for kind in NEED_THE_STORE {
            let first = load.first_success(mending, kind);
            hold(&format!("{}: recovery of {kind:?}", self.what), first, RECOVERY);
        }
    }
}
