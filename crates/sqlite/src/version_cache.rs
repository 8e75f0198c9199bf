//! The version as this process knows it: an answer without a query.
//!
//! The writer publishes the version of what it has committed before it acknowledges that. Another
//! process's commit is noticed by the watch. A caller never waits for a disk: a version that was not
//! confirmed for [`MAX_AGE`] is not given.

use std::{
    sync::{PoisonError, RwLock},
    time::{Duration, Instant},
};

use petstore_domain::CatalogueVersion;

/// The port allows as long until another process's write shows.
const MAX_AGE: Duration = Duration::from_millis(100);

/// The version, if it is known.
#[derive(Debug)]
pub(crate) struct VersionCache(RwLock<Known>);

#[derive(Debug)]
struct Known {
    /// `None` if it is not known.
    version: Option<CatalogueVersion>,
    /// At this moment it was the catalogue's.
    at: Instant,
    /// How often the version has changed: what was read before a change does not replace it.
    changes: u64,
}

/// The moment at which a version begins to be read, or committed.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Moment {
    at: Instant,
    changes: u64,
}

impl VersionCache {
    /// Returns a cache that knows no version yet.
    pub(crate) fn new() -> Self {
        Self(RwLock::new(Known { version: None, at: Instant::now(), changes: 0 }))
    }

    /// Returns the version, no older than [`MAX_AGE`].
    pub(crate) fn get(&self) -> Option<CatalogueVersion> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.version.filter(|_| known.at.elapsed() < MAX_AGE)
    }

    /// Returns this moment. To be called before the version is read, and under the write lock right before a commit.
    pub(crate) fn moment(&self) -> Moment {
        let changes = self.0.read().unwrap_or_else(PoisonError::into_inner).changes;
        Moment { at: Instant::now(), changes }
    }

    /// Accepts the `version` that was read at `moment`. It is left out if another one has become known since: that may
    /// be newer.
    pub(crate) fn confirm(&self, moment: Moment, version: Option<CatalogueVersion>) {
        self.change(moment, version, |_| {});
    }

    /// Accepts the `version` that this process committed at `moment`; `None` if it is unclear what was. To be
    /// called before the commit is acknowledged. If another one has become known since, it is unclear
    /// which one is newer, and so none is known until the version is read again.
    pub(crate) fn publish(&self, moment: Moment, version: Option<CatalogueVersion>) {
        self.change(moment, version, |known| {
            if known.version != version {
                known.version = None;
            }
            known.changes += 1;
        });
    }

    fn change(
        &self,
        moment: Moment,
        version: Option<CatalogueVersion>,
        if_changed_since: impl FnOnce(&mut Known),
    ) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.changes != moment.changes {
            return if_changed_since(&mut known);
        }
        known.changes += u64::from(known.version != version);
        (known.version, known.at) = (version, moment.at);
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::CatalogueVersion;

    use super::{MAX_AGE, VersionCache};

    const OLD: Option<CatalogueVersion> = Some(CatalogueVersion(1));
    const NEW: Option<CatalogueVersion> = Some(CatalogueVersion(2));
    const NEWEST: Option<CatalogueVersion> = Some(CatalogueVersion(3));

    #[test]
    fn what_was_read_before_a_commit_does_not_replace_it() {
        let cache = VersionCache::new();
        let (read, committed) = (cache.moment(), cache.moment());
        cache.publish(committed, NEW);
        cache.confirm(read, OLD);
        assert_eq!(cache.get(), NEW);
    }

    #[test]
    fn a_commit_may_be_read_before_it_is_published() {
        let cache = VersionCache::new();
        let committed = cache.moment();
        cache.confirm(cache.moment(), NEW);
        cache.publish(committed, NEW);
        assert_eq!(cache.get(), NEW);
    }

    #[test]
    fn of_two_commits_that_are_published_in_either_order_none_is_taken_for_the_newer_one() {
        let cache = VersionCache::new();
        let (first, second) = (cache.moment(), cache.moment());
        cache.publish(second, NEWEST);
        let read = cache.moment();
        cache.publish(first, NEW);
        assert_eq!(cache.get(), None);
        cache.confirm(read, NEW);
        assert_eq!(cache.get(), None, "it was read before the second was published");
        cache.confirm(cache.moment(), NEWEST);
        assert_eq!(cache.get(), NEWEST);
    }

    #[test]
    fn a_version_that_was_not_confirmed_for_long_is_not_given() {
        let cache = VersionCache::new();
        let read = cache.moment();
        std::thread::sleep(MAX_AGE);
        cache.confirm(read, NEW);
        assert_eq!(cache.get(), None);
        cache.confirm(cache.moment(), NEW);
        assert_eq!(cache.get(), NEW);
    }
}
