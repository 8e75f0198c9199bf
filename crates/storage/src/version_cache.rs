//! A cache of the catalogue's version, and the task that keeps it fresh.
//!
//! The cache gives the version without a call, to the page cache: without it each request would cost the very round
//! trip that a cached page saves. It costs a read every 40 ms while requests arrive, and the rule in [`later_of`].
//!
//! # For authors of adapters
//! The store keeps a counter of its changes beside the random version; both are read in one snapshot ([`StoredVersion`]).
//! - `PetRepository::version` returns [`VersionCache::get`].
//! - A write calls [`VersionCache::observe`] after its commit and before it is answered, with the moment before it began.
//! - A read may call `observe` with the version that it has read and the moment before it began.
//! - [`watch`] runs as a task and reads what other processes write. [`StoreTasks`](crate::StoreTasks) spawns it.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use petstore_domain::CatalogueVersion;
use tokio::{sync::Notify, time};

/// The age at which a version is not given any more: the port allows 100 ms until another process's write shows.
const MAX_AGE: Duration = Duration::from_millis(100);
/// The time between two reads of the version: less than half of what the port allows.
const INTERVAL: Duration = Duration::from_millis(40);
/// The pause after a read that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The time for which the version is read after a request. An idle service asks its store nothing.
const WATCH_TIME: Duration = Duration::from_secs(2);

/// The version in one state of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    /// `None` if the store is not open.
    pub version: Option<CatalogueVersion>,
    /// The number of changes before it: of two states, the one with more is later.
    pub changes: i64,
}

/// The version as this process knows it, from its own writes, its reads, and [`watch`].
#[derive(Debug, Default)]
pub struct VersionCache {
    latest: RwLock<Option<Observation>>,
    /// Notified by each request for the version.
    requested: Notify,
}

/// A value that was read, and when.
#[derive(Clone, Copy, Debug)]
struct Observation {
    stored: StoredVersion,
    /// No later than the snapshot.
    began: Instant,
    /// When the answer had arrived.
    ended: Instant,
}

impl VersionCache {
    /// Returns the version. `None` if none was read within the last 100 ms, or the store is not open.
    pub fn get(&self) -> Option<CatalogueVersion> {
        self.requested.notify_one();
        self.known()
    }

    /// As [`get`](Self::get), for a store that does not use [`watch`]: it reads the version on a thread of its own.
    pub fn known(&self) -> Option<CatalogueVersion> {
        let latest = *self.latest.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = latest.filter(|observation| observation.began.elapsed() <= MAX_AGE);
        fresh.and_then(|observation| observation.stored.version)
    }

    /// Accepts the version of a snapshot that was made after `began`.
    pub fn observe(&self, stored: StoredVersion, began: Instant) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        let new = Observation { stored, began, ended: Instant::now() };
        *latest = Some(latest.map_or(new, |old| later_of(old, new)));
    }
}

/// Returns which of two observations is of the later state. Answers may overtake one another, so that what
/// arrives last was not always read last: of two reads that overlap, more changes are later. A read that began
/// after the other had ended is later even with fewer changes: then the history was taken back, by a backup or
/// by a failover to a server that had not all of it.
fn later_of(old: Observation, new: Observation) -> Observation {
    if new.began >= old.ended {
        new
    } else if new.stored.changes > old.stored.changes {
        // It was still to come when the other read began, so it is as fresh as both.
        Observation { began: new.began.max(old.began), ..new }
    } else {
        old
    }
}

/// Reads the version again and again while requests ask for it. Never ends by itself. `read` ends within a bounded time;
/// its failure (`None`) is not reported, as requests fail for the same cause and report it.
pub async fn watch<F>(cache: Arc<VersionCache>, read: impl Fn() -> F)
where
    F: Future<Output = Option<StoredVersion>>,
{
    loop {
        // A request during the last watch has left its notification.
        cache.requested.notified().await;
        let requested = Instant::now();
        while requested.elapsed() < WATCH_TIME {
            let began = Instant::now();
            let pause = if let Some(stored) = read().await {
                cache.observe(stored, began);
                INTERVAL
            } else {
                RETRY_PAUSE
            };
            time::sleep(pause.saturating_sub(began.elapsed())).await;
        }
    }
}
