//! The board: shows the catalogue's mark to everyone, without a query.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError, RwLock, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, StoreError};
use rusqlite::Connection;

use crate::version::{self, Change};

/// The port allows 100 ms until another process's write shows; half of it leaves time to look.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The mark as this process knows it.
///
/// It follows each commit of this process before the writer answers. What other processes write is
/// noticed by looking: whoever asks first after [`LOOK_EVERY`] does.
pub(crate) struct Board {
    /// `None` when the last look failed: then nobody can tell cheaply.
    shown: RwLock<Option<CatalogueVersion>>,
    /// A connection that does nothing but look. Looking and showing happen under this one lock, so
    /// that what was seen earlier never replaces what was seen later.
    eye: Mutex<Connection>,
    since: Instant,
    /// When the last look began, in milliseconds after `since`.
    looked_at: AtomicU64,
}

impl Board {
    /// Looks through `connection`, for the first time now.
    pub(crate) fn new(connection: Connection) -> Self {
        let board = Self {
            shown: RwLock::new(None),
            eye: Mutex::new(connection),
            since: Instant::now(),
            looked_at: AtomicU64::new(0),
        };
        board.renew();
        board
    }

    /// The mark, at most [`LOOK_EVERY`] and one look old. Callers do not wait for one another.
    pub(crate) fn mark(&self) -> Option<CatalogueVersion> {
        if self.is_due() {
            match self.eye.try_lock() {
                Ok(eye) => self.look(&eye),
                Err(TryLockError::Poisoned(poisoned)) => self.look(&poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {} // Somebody else is looking.
            }
        }
        self.shown()
    }

    /// Looks now. What was committed before shows afterwards.
    pub(crate) fn renew(&self) {
        self.look(&self.eye.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Shows what a commit of this process has made of the mark. Nothing was committed between the
    /// two marks of `change`, so who knows the first need not look for the second.
    pub(crate) fn follow(&self, change: Change) {
        let eye = self.eye.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = self.shown();
        if shown.is_some() && shown == change.before {
            self.show(Some(change.after));
        } else {
            // Another process has written, before or after, and perhaps that was seen already.
            self.look(&eye);
        }
    }

    fn is_due(&self) -> bool {
        self.now() >= self.looked_at.load(Ordering::Relaxed).saturating_add(millis(LOOK_EVERY))
    }

    fn look(&self, eye: &Connection) {
        self.looked_at.store(self.now(), Ordering::Relaxed);
        // Reads fail for the same cause, and they are who reports it.
        let seen = version::current::<StoreError>(eye).ok();
        if self.shown() != seen {
            self.show(seen);
        }
    }

    fn show(&self, mark: Option<CatalogueVersion>) {
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = mark;
    }

    fn shown(&self) -> Option<CatalogueVersion> {
        *self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        millis(self.since.elapsed())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}
