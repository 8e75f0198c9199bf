//! The board: shows the catalogue's mark to everyone, without a query.

mod watch;

use std::{
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::CatalogueVersion;
use tokio::sync::Notify;

pub(crate) use self::watch::watch;
use crate::version::Seen;

/// What was seen longer ago is not shown any more: the port allows 100 ms until another instance's
/// write shows.
const FRESH: Duration = Duration::from_millis(100);
/// The database is watched until nobody has asked for this long.
const INTEREST: Duration = Duration::from_secs(2);

/// The mark as this instance knows it. Its own additions show it before they are answered, its
/// reads show what they have seen, and what others write is noticed by watching.
#[derive(Debug)]
pub(crate) struct Board {
    shown: RwLock<Option<Look>>,
    /// When somebody last asked, in milliseconds after `since`.
    asked_at: AtomicU64,
    since: Instant,
    /// Told when somebody asks after a while.
    interest: Notify,
}

/// What was seen, and when.
#[derive(Clone, Copy, Debug)]
struct Look {
    seen: Seen,
    /// No later than the snapshot.
    began: Instant,
    /// When the answer had arrived.
    ended: Instant,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            shown: RwLock::new(None),
            asked_at: AtomicU64::new(0),
            since: Instant::now(),
            interest: Notify::new(),
        }
    }

    /// The mark, unless it was seen too long ago to be sure of.
    pub(crate) fn mark(&self) -> Option<CatalogueVersion> {
        let now = self.now();
        let before = self.asked_at.swap(now, Ordering::AcqRel);
        if now.saturating_sub(before) > millis(INTEREST) / 2 {
            self.interest.notify_one();
        }
        let shown = *self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.filter(|look| look.began.elapsed() <= FRESH).map(|look| look.seen.mark)
    }

    /// Shows what was seen in a snapshot taken after `began`.
    pub(crate) fn show(&self, seen: Seen, began: Instant) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let new = Look { seen, began, ended: Instant::now() };
        *shown = Some(shown.map_or(new, |old| later(old, new)));
    }

    /// Whether somebody still wants to know.
    fn is_wanted(&self) -> bool {
        let asked_at = self.asked_at.load(Ordering::Acquire);
        self.now().saturating_sub(asked_at) <= millis(INTEREST)
    }

    fn now(&self) -> u64 {
        millis(self.since.elapsed())
    }
}

/// Which of two looks saw the later state. Answers may overtake one another, so that what arrives
/// last was not always seen last.
fn later(old: Look, new: Look) -> Look {
    // Fewer changes are the later state only if the history was taken back: by a failover to a
    // server that had not all of it, or by a backup.
    let taken_back = new.began >= old.ended && new.seen.changes < old.seen.changes;
    let other_history = new.began >= old.ended && new.seen.mark != old.seen.mark;
    if new.seen.changes > old.seen.changes || taken_back || other_history {
        // The later state was still to come when either look began, so it is as fresh as both.
        let began = if taken_back { new.began } else { new.began.max(old.began) };
        Look { began, ..new }
    } else if new.seen == old.seen {
        Look { began: new.began.max(old.began), ended: new.ended.max(old.ended), ..old }
    } else {
        old
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use petstore_domain::CatalogueVersion;

    use super::{Board, FRESH};
    use crate::version::Seen;

    fn seen(mark: u128, changes: i64) -> Seen {
        Seen { mark: CatalogueVersion(mark), changes }
    }

    #[test]
    fn what_was_seen_too_long_ago_is_not_shown() {
        let board = Board::new();
        assert_eq!(board.mark(), None);
        let Some(long_ago) = Instant::now().checked_sub(FRESH + Duration::from_millis(1)) else {
            return;
        };
        board.show(seen(1, 1), long_ago);
        assert_eq!(board.mark(), None);
        board.show(seen(1, 1), Instant::now());
        assert_eq!(board.mark(), Some(CatalogueVersion(1)));
    }

    #[test]
    fn an_answer_that_was_overtaken_changes_nothing() {
        let board = Board::new();
        let before = Instant::now();
        board.show(seen(2, 2), Instant::now());
        board.show(seen(1, 1), before);
        assert_eq!(board.mark(), Some(CatalogueVersion(2)));
        board.show(seen(3, 3), before);
        assert_eq!(board.mark(), Some(CatalogueVersion(3)));
    }

    #[test]
    fn a_history_that_was_taken_back_is_shown() {
        let board = Board::new();
        board.show(seen(9, 9), Instant::now());
        board.show(seen(4, 4), Instant::now());
        assert_eq!(board.mark(), Some(CatalogueVersion(4)));
        board.show(seen(5, 4), Instant::now());
        assert_eq!(board.mark(), Some(CatalogueVersion(5)));
    }
}
