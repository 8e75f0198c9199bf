//! The errors of opening and upgrading a store.

use std::{io, path::PathBuf};

use petstore_domain::StoreError;
use petstore_storage::SchemaError;
use rusqlite::{ErrorCode, ffi};
use rustix::io::Errno;

/// A store could not be opened or upgraded. The message is one line with the cause and its repair.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {}: {reason}", .path.display())]
pub struct OpenError {
    pub(crate) path: PathBuf,
    pub(crate) reason: Reason,
}

/// Converts to [`StoreError::Unavailable`] if opening may succeed later: another process has locked the file, or the
/// disk is full, read-only or failing. Otherwise converts to [`StoreError::Refused`].
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        use Reason::{CannotGrow, Full, Io, Locked, ReadOnlyDisk, Sqlite};
        let fails = ErrorCode::SystemIoFailure;
        let may_pass = matches!(error.reason, Locked | Full | CannotGrow | ReadOnlyDisk)
            || matches!(&error.reason, Sqlite(cause) if cause.sqlite_error_code() == Some(fails))
            || matches!(&error.reason, Io(cause) if cause.raw_os_error() == Some(Errno::IO.raw_os_error()));
        petstore_storage::opening_error(error, may_pass)
    }
}

/// The reason why a store could not be opened or upgraded. The file stays unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("its directory {} does not exist; create it, or name another path", .0.display())]
    NoDirectory(PathBuf),
    #[error("it is a directory; name a file in it, such as {}", .0.join("petstore.db").display())]
    Directory(PathBuf),
    #[error(
        "permission denied; give this user read and write access to the file and its directory"
    )]
    Denied,
    #[error(
        "permission denied for {} beside it; give this user read and write access to that file, too ('chmod u+rw')",
        .0.display()
    )]
    Companion(PathBuf),
    #[error(
        "{} beside it is the log of another store, with another identity; move that log away, to the file that \
         it belongs to", .0.display()
    )]
    ForeignLog(PathBuf),
    #[error("its disk is mounted read-only; mount it for writing, or name another path")]
    ReadOnlyDisk,
    #[error(
        "SQLite cannot open it; give this user access to the file and its directory, or allow more open \
         files ('ulimit -n')"
    )]
    CannotOpen,
    #[error(
        "it is locked by another process; stop that process, or try again when it has finished"
    )]
    Locked,
    #[error(
        "its file system cannot share memory between processes (no write-ahead log); \
         put the store on a local disk"
    )]
    NoWriteAheadLog,
    #[error("there is no space left on its disk; free some")]
    Full,
    #[error(
        "what SQLite has beside it cannot grow; free space on its disk, or raise the limit on the size of \
         files ('ulimit -f')"
    )]
    CannotGrow,
    #[error("it is damaged ({0}); restore it from a backup")]
    Damaged(#[source] rusqlite::Error),
    #[error("it is not a petstore store but {0}; it was left untouched: name another path")]
    Foreign(&'static str),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("{} exists, and is no copy of a petstore store; move it away", .0.display())]
    Occupied(PathBuf),
    #[error("the copy before the upgrade was not made: {0}")]
    Copy(String),
    #[error("{0}; mend that, or name another path")]
    Sqlite(#[source] rusqlite::Error),
    #[error("{0}; mend that, or name another path")]
    Io(#[from] io::Error),
}

impl From<rusqlite::Error> for Reason {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            return Self::Locked;
        }
        if error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
        {
            return Self::CannotGrow;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => Self::Denied,
            Some(ErrorCode::CannotOpen) => Self::CannotOpen,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Sqlite(error),
        }
    }
}

pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use petstore_domain::StoreError;
    use rusqlite::ffi;

    use super::{OpenError, Reason};

    #[test]
    fn an_error_of_sqlite_says_what_to_do_and_whether_it_may_pass() {
        let table = [
            (
                ffi::SQLITE_READONLY_DIRECTORY,
                "permission denied; give this user read and write access to the file and its directory",
                false,
            ),
            (
                ffi::SQLITE_CANTOPEN,
                "SQLite cannot open it; give this user access to the file and its directory, or allow \
                 more open files ('ulimit -n')",
                false,
            ),
            (ffi::SQLITE_FULL, "there is no space left on its disk; free some", true),
            (
                ffi::SQLITE_IOERR_SHMSIZE,
                "what SQLite has beside it cannot grow; free space on its disk, or raise the limit on \
                 the size of files ('ulimit -f')",
                true,
            ),
            (
                ffi::SQLITE_BUSY,
                "it is locked by another process; stop that process, or try again when it has \
                 finished",
                true,
            ),
            (ffi::SQLITE_CORRUPT, "it is damaged (the cause); restore it from a backup", false),
            (ffi::SQLITE_IOERR, "the cause; mend that, or name another path", true),
            (ffi::SQLITE_MISUSE, "the cause; mend that, or name another path", false),
        ];
        for (code, message, passes) in table {
            let cause = Some("the cause".to_owned());
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), cause);
            let reason = Reason::from(error);
            assert_eq!(reason.to_string(), message);
            let error = StoreError::from(OpenError { path: "x".into(), reason });
            assert_eq!(matches!(error, StoreError::Unavailable(_)), passes, "{error}");
        }
    }
}
