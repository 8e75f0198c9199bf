//! The catalogue's version, and the cache that answers it without a query.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError, RwLock, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, Corruption, StoreError};
use rusqlite::{Connection, Row};

use crate::error::Failure;

pub(crate) const SELECT: &str = "SELECT version FROM catalogue WHERE only = 1";

/// The port allows 100 ms until another process's write shows; half of it leaves time to read.
const MAX_AGE: Duration = Duration::from_millis(50);

/// The version now.
pub(crate) fn current<E: From<StoreError>>(
    connection: &Connection,
) -> Result<CatalogueVersion, Failure<E>> {
    in_snapshot(connection, Ok)
}

/// Runs `read` in the snapshot that the version is read from.
///
/// SQLite ends a read transaction when the last running statement of the connection ends. `rows` is
/// still running while `read` runs, so both see the same snapshot, and no `BEGIN` is needed.
pub(crate) fn in_snapshot<T, E: From<StoreError>>(
    connection: &Connection,
    read: impl FnOnce(CatalogueVersion) -> Result<T, Failure<E>>,
) -> Result<T, Failure<E>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let version = match rows.next()? {
        Some(row) => from_column(row, 0)?,
        None => return Err(missing().into()),
    };
    read(version)
}

/// The version in `column` of a row.
pub(crate) fn from_column(row: &Row<'_>, column: usize) -> Result<CatalogueVersion, Corruption> {
    let bytes: [u8; 16] = row.get(column).map_err(|_| missing())?;
    Ok(CatalogueVersion(u128::from_be_bytes(bytes)))
}

fn missing() -> Corruption {
    Corruption::new("the version of the catalogue", "there is one, of 16 bytes")
}

/// The version as this process knows it.
///
/// It is read again after each commit of this process, before the writes are acknowledged. Another
/// process's commit shows within [`MAX_AGE`]: whoever asks for an older version reads it again.
pub(crate) struct VersionCache {
    /// `None` if it could not be read.
    version: RwLock<Option<CatalogueVersion>>,
    /// Locked while the version is read and kept, so that an older one never replaces a newer one.
    connection: Mutex<Connection>,
    epoch: Instant,
    /// When the version was last read, in milliseconds since `epoch`.
    read_at: AtomicU64,
}

impl VersionCache {
    /// Reads the version through `connection`, now and later.
    pub(crate) fn new(connection: Connection) -> Self {
        let cache = Self {
            version: RwLock::new(None),
            connection: Mutex::new(connection),
            epoch: Instant::now(),
            read_at: AtomicU64::new(0),
        };
        cache.refresh();
        cache
    }

    /// The version, no older than [`MAX_AGE`] and one read. Callers do not wait for one another.
    pub(crate) fn get(&self) -> Option<CatalogueVersion> {
        if self.now() >= self.read_at.load(Ordering::Relaxed).saturating_add(millis(MAX_AGE)) {
            match self.connection.try_lock() {
                Ok(connection) => self.read(&connection),
                Err(TryLockError::Poisoned(poisoned)) => self.read(&poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {} // Another thread reads it.
            }
        }
        self.cached()
    }

    /// Reads the version: whatever was committed before shows afterwards.
    pub(crate) fn refresh(&self) {
        self.read(&self.connection.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self, connection: &Connection) {
        self.read_at.store(self.now(), Ordering::Relaxed);
        // Requests fail for the same cause, and they report it.
        let version = current::<StoreError>(connection).ok();
        if self.cached() != version {
            *self.version.write().unwrap_or_else(PoisonError::into_inner) = version;
        }
    }

    fn cached(&self) -> Option<CatalogueVersion> {
        *self.version.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        millis(self.epoch.elapsed())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for VersionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionCache").finish_non_exhaustive()
    }
}
