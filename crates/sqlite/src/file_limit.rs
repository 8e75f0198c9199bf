//! Whether the process may open more files.

use std::{error::Error, fs::File};

use rusqlite::ErrorCode;
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};

/// Files that an open store has with one read in progress, and some to spare.
const NEEDED: usize = 16;

/// Fewer files can be opened than a store needs.
#[derive(Debug, thiserror::Error)]
#[error("too many open files (limit {limit}); raise the limit ('ulimit -n')")]
pub(crate) struct TooManyFiles {
    limit: String,
}

impl TooManyFiles {
    /// Whether it is so now. SQLite does not say why it cannot open a file, so this tries it.
    pub(crate) fn now() -> Option<Self> {
        let opened: Result<Vec<File>, _> = (0..NEEDED).map(|_| File::open("/")).collect();
        let errno = opened.as_ref().err().and_then(Errno::from_io_error)?;
        [Errno::MFILE, Errno::NFILE].contains(&errno).then(|| {
            let limit = getrlimit(Resource::Nofile).current;
            let limit = limit.map_or_else(|| "of the system".to_owned(), |limit| limit.to_string());
            Self { limit }
        })
    }
}

/// The cause of a failure, for the log.
pub(crate) fn cause(error: rusqlite::Error) -> Box<dyn Error + Send + Sync> {
    let cannot_open = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
    match cannot_open.then(TooManyFiles::now).flatten() {
        Some(too_many) => too_many.into(),
        None => error.into(),
    }
}
