//! The check that the files of the store are neither removed, replaced nor truncated.
//!
//! Writes to a removed file succeed until the last process closes the file. So the writer compares the device and inode
//! at each path with the device and inode of the open file: before each transaction, and again before the transaction's
//! callers get their results. SQLite may not notice that a database was truncated if the lost pages are in its cache.
//! So if the database file has become shorter, the check requires all the pages that the header counts.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use petstore_domain::StoreError;

use crate::{connection::companion, schema};

/// The device and inode of a file.
type Identity = (u64, u64);

/// The database file and its write-ahead log as they were opened.
pub(crate) struct Presence {
    database: (PathBuf, Identity),
    /// The log; `None` if the store is read-only.
    log: Option<(PathBuf, Identity)>,
    /// The length of the database in bytes when it was last found whole.
    length: AtomicU64,
    /// `true` if the last check failed.
    lost: AtomicBool,
}

impl Presence {
    /// Notes the files of the store that was opened at `path`.
    pub(crate) fn new(path: &Path, read_only: bool) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let database = (path.to_owned(), identity(&metadata));
        let log = companion(path, "-wal")?;
        let log =
            if read_only { None } else { Some((log.clone(), identity(&fs::metadata(&log)?))) };
        Ok(Self { database, log, length: metadata.len().into(), lost: false.into() })
    }

    /// Checks the files. Fails if a file is missing, replaced or truncated.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let log = self.log.iter().try_for_each(|log| find(log).map(drop));
        let found = log.and_then(|()| self.require_whole(&find(&self.database)?));
        self.lost.store(found.is_err(), Ordering::Relaxed);
        found
    }

    fn require_whole(&self, database: &Metadata) -> Result<(), StoreError> {
        let (length, before) = (database.len(), self.length.load(Ordering::Relaxed));
        let path = &self.database.0;
        if length < before && !schema::is_whole(path) {
            return Err(lost(path, "was truncated"));
        }
        self.length.store(length, Ordering::Relaxed);
        Ok(())
    }

    /// Checks the files again if the last check failed.
    pub(crate) fn require(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }
}

/// Returns the metadata of a file. Fails if the file is missing, or is not the file that was opened.
fn find((path, opened): &(PathBuf, Identity)) -> Result<Metadata, StoreError> {
    match fs::metadata(path) {
        Ok(metadata) if identity(&metadata) == *opened => Ok(metadata),
        Ok(_) => Err(lost(path, "was replaced")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(lost(path, "was removed")),
        Err(error) => Err(lost(path, &format!("cannot be found ({error})"))),
    }
}

fn lost(path: &Path, what: &str) -> StoreError {
    StoreError::unavailable(format!(
        "{} {what} while the store was open, and nothing more is written; put the file back, or stop the \
         service and restore the store",
        path.display()
    ))
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}
