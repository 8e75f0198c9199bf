//! The catalogue's version, and a cache of it.
//!
//! The version is a row that each transaction which changes an animal renews; reads select it in
//! the same statement as their data. The cache gives it without a query, to `ETag`s and to the
//! page cache: without it each request would cost the very round trip that those save. It costs a
//! query every 40 ms while requests arrive, and the rule in [`later_of`].

pub(crate) mod watch;

#[cfg(test)]
mod tests;

use std::{
    sync::{PoisonError, RwLock},
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, StoreError};
use tokio::sync::Notify;
use tokio_postgres::Row;

use crate::error::StoreFailure;

/// The columns that [`StoredVersion::from_row`] expects, in front of all others.
macro_rules! select_with_version {
    ($($tail:literal),+) => {
        concat!("SELECT c.version, c.changes", $($tail),+)
    };
}
pub(crate) use select_with_version;

pub(crate) const SELECT: &str = select_with_version!(" FROM catalogue c WHERE c.only_row = 1");
/// Writes a new version. Without one (null) it writes the old one again: nothing has changed, but
/// the commit waits until all that it has read is durable, on a standby too.
pub(crate) const RENEW: &str = "UPDATE catalogue SET version = coalesce($1::bytea, version), \
     changes = changes + CASE WHEN $1::bytea IS NULL THEN 0 ELSE 1 END WHERE only_row = 1 \
     RETURNING version, changes";
/// The version of a new catalogue.
pub(crate) const INSERT: &str =
    "INSERT INTO catalogue (only_row, version, changes) VALUES (1, $1, 0)";

/// What was read longer ago is not given any more: the port allows 100 ms until another instance's
/// write shows.
const MAX_AGE: Duration = Duration::from_millis(100);

/// The version in a snapshot of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    pub(crate) version: CatalogueVersion,
    /// How many changes there had been: more is later.
    pub(crate) changes: i64,
}

impl StoredVersion {
    /// Out of the first two columns of a row.
    pub(crate) fn from_row(row: Option<&Row>) -> Result<Self, StoreError> {
        let columns = |row: &Row| {
            let bytes: [u8; 16] = row.try_get::<_, &[u8]>(0).ok()?.try_into().ok()?;
            let version = CatalogueVersion(u128::from_be_bytes(bytes));
            Some(Self { version, changes: row.try_get(1).ok()? })
        };
        let missing =
            || StoreError::corrupt("the catalogue's version", "there is one, of 16 bytes");
        row.and_then(columns).ok_or_else(missing)
    }
}

/// A version that never was and never will be again.
pub(crate) fn random() -> Result<[u8; 16], StoreFailure> {
    let mut version = [0; 16];
    getrandom::fill(&mut version).map_err(|error| StoreFailure::Random(error.to_string()))?;
    Ok(version)
}

/// The version as this instance knows it. Its own additions put theirs in before they are answered,
/// its reads what they have seen, and [`watch`] what others write.
#[derive(Debug, Default)]
pub(crate) struct VersionCache {
    latest: RwLock<Option<Observation>>,
    /// Notified by each request for the version.
    requested: Notify,
}

/// What was read, and when.
#[derive(Clone, Copy, Debug)]
struct Observation {
    stored: StoredVersion,
    /// No later than the snapshot.
    began: Instant,
    /// When the answer had arrived.
    ended: Instant,
}

impl VersionCache {
    /// The version, unless it was read too long ago to be sure of.
    pub(crate) fn get(&self) -> Option<CatalogueVersion> {
        self.requested.notify_one();
        let latest = *self.latest.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = latest.filter(|observation| observation.began.elapsed() <= MAX_AGE);
        fresh.map(|observation| observation.stored.version)
    }

    /// Takes what was read in a snapshot that was made after `began`.
    pub(crate) fn observe(&self, stored: StoredVersion, began: Instant) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        let new = Observation { stored, began, ended: Instant::now() };
        *latest = Some(latest.map_or(new, |old| later_of(old, new)));
    }
}

/// Which of two observations is of the later state. Answers may overtake one another, so that what
/// arrives last was not always read last: of two reads that overlap, more changes are later. A read
/// that began after the other had ended is later even with fewer changes: then the history was taken
/// back, by a backup or by a failover to a server that had not all of it.
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
