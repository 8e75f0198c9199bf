//! A cache of the catalogue's version, and the task that keeps it fresh.
//!
//! The page cache, which keeps answers of the service, asks for the version at each request. Without the version cache,
//! each cached page would cost a call to the store. The version cache costs one read every 40 ms while requests arrive.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use petstore_domain::CatalogueVersion;
use tokio::{sync::Notify, time};

/// The largest age of a version: the port allows 100 ms until a write of another process is visible.
const MAX_AGE: Duration = Duration::from_millis(100);
/// The time between the starts of two reads. The version stays known while each read takes less than the rest of
/// [`MAX_AGE`].
const INTERVAL: Duration = Duration::from_millis(40);
/// The pause after a read that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The time for which [`watch`] reads the version after a request. An idle service makes no calls.
const WATCH_TIME: Duration = Duration::from_secs(2);

/// The version of one state of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    /// The version; `None` if the store is not open.
    pub version: Option<CatalogueVersion>,
    /// The number of changes so far. The later of two states has the larger number.
    pub changes: i64,
}

/// The latest version that the writes, the reads and [`watch`] of this process have seen.
///
/// # For authors of adapters
/// The store keeps a counter of its changes beside the random version, and reads both in one snapshot
/// ([`StoredVersion`]).
/// - `PetRepository::version` returns [`get`](Self::get).
/// - A write calls [`observe`](Self::observe) between its commit and its answer, with a time before the commit.
/// - A read may call `observe` with its version and a time before its snapshot.
/// - [`watch`] runs as a task, and reads the version that other processes write. [`StoreTasks`](crate::StoreTasks)
///   spawns the task.
#[derive(Debug, Default)]
pub struct VersionCache {
    latest: RwLock<Option<Observation>>,
    /// Notified by each request for the version.
    requested: Notify,
}

/// A version with the time of its read.
#[derive(Clone, Copy, Debug)]
struct Observation {
    stored: StoredVersion,
    /// A time before the snapshot.
    began: Instant,
    /// The time at which the answer arrived.
    ended: Instant,
}

impl VersionCache {
    /// Returns the version; `None` if no read began within the last 100 ms, or the store is not open.
    pub fn get(&self) -> Option<CatalogueVersion> {
        self.requested.notify_one();
        self.known()
    }

    /// Returns the same version as [`get`](Self::get), but does not wake [`watch`]. For a store that reads the version
    /// on its own thread.
    pub fn known(&self) -> Option<CatalogueVersion> {
        let latest = *self.latest.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = latest.filter(|observation| observation.began.elapsed() <= MAX_AGE);
        fresh.and_then(|observation| observation.stored.version)
    }

    /// Notes the version of a snapshot that was made after `began`.
    ///
    /// Answers may arrive in another order than their reads. Of two reads that overlap, the one with more changes is
    /// later. A read that began after the other had ended is later even with fewer changes: a restored backup or a
    /// failover has undone changes.
    pub fn observe(&self, stored: StoredVersion, began: Instant) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        let new = Observation { stored, began, ended: Instant::now() };
        *latest = Some(match *latest {
            Some(old) if began < old.ended && stored.changes <= old.stored.changes => old,
            // If the reads overlap, `old` saw an earlier state. So `new` has every change that was made before the
            // later of the two starts.
            Some(old) => Observation { began: began.max(old.began), ..new },
            None => new,
        });
    }
}

/// Reads the version periodically while requests ask for it. Never returns. `read` must end within a bounded time. A
/// failure of `read` (`None`) is not reported, because requests fail for the same cause and report the cause.
pub async fn watch<F>(cache: Arc<VersionCache>, read: impl Fn() -> F)
where
    F: Future<Output = Option<StoredVersion>>,
{
    loop {
        // Returns at once if a request has arrived during the last `WATCH_TIME`.
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
