//! Checks that the files of the store are still where they were opened, and that the database is whole.
//!
//! The system keeps a file that is removed for whoever has it open: writes go on, and are gone with the
//! last process that has it. So device and inode at each path are compared with those of the open file:
//! by the writer before each transaction and before what it acknowledges, and by the watch.
//!
//! A database that is cut off goes unnoticed by SQLite while its cache holds the pages that are gone. So
//! when the file has become shorter, it must have the pages that its first one counts, which SQLite writes
//! before it shortens a file itself.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use petstore_domain::StoreError;

use crate::{
    connection::{ReadAccess, beside},
    schema,
};

/// Device and inode: two paths may lead to one file.
type Identity = (u64, u64);

/// The database file and its write-ahead log, as they were opened.
#[derive(Debug)]
pub(crate) struct Presence {
    database: (PathBuf, Identity),
    /// The log is not looked for where the store is only read.
    log: Option<(PathBuf, Identity)>,
    /// The length of the database when it was last found whole, in bytes.
    length: AtomicU64,
    /// `true` if the last check found a file lost.
    lost: AtomicBool,
}

impl Presence {
    /// Remembers the files of the store that was opened at `path`.
    pub(crate) fn new(path: &Path, access: ReadAccess) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let database = (path.to_owned(), identity(&metadata));
        // SQLite names the log after the file itself, also where `path` is a symbolic link to it.
        let log = beside(&fs::canonicalize(path)?, "-wal");
        let log = match access {
            ReadAccess::Shared => Some((log.clone(), identity(&fs::metadata(&log)?))),
            ReadAccess::ReadOnly => None,
        };
        let (length, lost) = (AtomicU64::new(metadata.len()), AtomicBool::new(false));
        Ok(Self { database, log, length, lost })
    }

    /// Compares the files with those that were opened. Fails if one is lost.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let log = self.log.iter().try_for_each(|log| find(log).map(drop));
        let found = log.and_then(|()| self.require_whole(&find(&self.database)?));
        if self.lost.load(Ordering::Relaxed) != found.is_err() {
            self.lost.store(found.is_err(), Ordering::Relaxed);
        }
        found
    }

    fn require_whole(&self, database: &Metadata) -> Result<(), StoreError> {
        let (length, before) = (database.len(), self.length.load(Ordering::Relaxed));
        let path = &self.database.0;
        if length < before && !schema::is_whole(path) {
            return Err(lost(path, "was truncated"));
        }
        if length != before {
            self.length.store(length, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Does so only if the last check found a file lost: it may be back.
    pub(crate) fn require(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }
}

/// Finds a file that was opened.
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
