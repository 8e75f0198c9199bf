//! Whether the files of the store are still where they were opened, and the database is whole.
//!
//! The system keeps a file that is removed for whoever has it open: writes go on, and are gone with the
//! last process that has it. So device and inode at each path are compared with those of the open file:
//! by the writer before each transaction and before what it acknowledges, and by the watch.
//!
//! A database that is cut off goes unnoticed by SQLite while its cache holds the pages that are gone. So
//! when the file has become shorter, its length is compared with the number of pages in its header, which
//! SQLite writes before it shortens a file itself.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use petstore_domain::StoreError;

use crate::{
    connection::{ReadAccess, beside},
    file::{DatabaseFile, Identity, identity},
    schema,
};

/// The database file and its write-ahead log, as they were opened.
#[derive(Debug)]
pub(crate) struct Presence {
    files: Vec<(PathBuf, Identity)>,
    database: DatabaseFile,
    /// The length of the database when it was last found whole, in bytes.
    length: AtomicU64,
    /// What the last check found.
    lost: AtomicBool,
}

/// A file of the store is not at its path any more. Becomes the cause of a [`StoreError`].
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{} {what} while the store was open, and nothing more is written; put the file back, or stop the \
     service and restore the store", .path.display()
)]
pub(crate) struct LostFile {
    path: PathBuf,
    what: String,
}

impl From<LostFile> for StoreError {
    fn from(lost: LostFile) -> Self {
        Self::unavailable(lost)
    }
}

impl Presence {
    /// Of `file`, which was opened at `path`. Where a connection shares it with a writer, there is a log.
    pub(crate) fn new(path: &Path, file: &DatabaseFile, access: ReadAccess) -> io::Result<Self> {
        let mut files = vec![(path.to_owned(), file.identity())];
        // SQLite names the log after the file itself, also where `path` is a symbolic link to it.
        let log = beside(&fs::canonicalize(path)?, "-wal");
        if access == ReadAccess::Shared {
            let identity = identity(&fs::metadata(&log)?);
            files.push((log, identity));
        }
        let (database, length) = (file.share(), AtomicU64::new(fs::metadata(path)?.len()));
        Ok(Self { files, database, length, lost: AtomicBool::new(false) })
    }

    /// Compares now.
    pub(crate) fn check(&self) -> Result<(), LostFile> {
        let found = self.files.iter().try_for_each(|(path, opened)| {
            let what = match fs::metadata(path) {
                Ok(metadata) if identity(&metadata) == *opened => {
                    if *opened != self.database.identity() || self.is_whole(metadata.len()) {
                        return Ok(());
                    }
                    "was truncated".to_owned()
                }
                Ok(_) => "was replaced".to_owned(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => "was removed".to_owned(),
                Err(error) => format!("cannot be found ({error})"),
            };
            Err(LostFile { path: path.clone(), what })
        });
        if self.lost.load(Ordering::Relaxed) != found.is_err() {
            self.lost.store(found.is_err(), Ordering::Relaxed);
        }
        found
    }

    /// Whether the database has all its pages, if it has this length.
    fn is_whole(&self, length: u64) -> bool {
        let before = self.length.load(Ordering::Relaxed);
        let whole = length >= before
            || self.database.head::<{ schema::HEADER_LEN }>().is_ok_and(|header| {
                schema::length(&header).is_some_and(|expected| length >= expected)
            });
        if whole && length != before {
            self.length.store(length, Ordering::Relaxed);
        }
        whole
    }

    /// Compares now only if the last check found a file lost: it may be back.
    pub(crate) fn require(&self) -> Result<(), LostFile> {
        if self.lost.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }
}
