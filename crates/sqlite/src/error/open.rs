//! The errors of opening and upgrading a store.

use std::{fmt, io, path::PathBuf};

use petstore_domain::StoreError;
use petstore_storage::{SchemaError, opening_error};
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
        let may_pass = matches!(error.reason, Reason::Passing(_));
        opening_error(error, may_pass)
    }
}

/// The reason why a store could not be opened or upgraded, with its repair. The file stays unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    /// Opening may succeed later.
    #[error("{0}")]
    Passing(String),
    /// Opening fails until an operator mends the cause.
    #[error("{0}")]
    Lasting(String),
    #[error("it is not a petstore store but {0}; it was left untouched: name another path")]
    Foreign(&'static str),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Reason {
    pub(crate) fn passing(message: impl Into<String>) -> Self {
        Self::Passing(message.into())
    }

    pub(crate) fn lasting(message: impl Into<String>) -> Self {
        Self::Lasting(message.into())
    }

    pub(crate) fn denied() -> Self {
        Self::lasting(
            "permission denied; give this user read and write access to the file and its directory",
        )
    }

    fn unknown(error: &dyn fmt::Display, may_pass: bool) -> Self {
        let message = format!("{error}; mend that, or name another path");
        if may_pass { Self::Passing(message) } else { Self::Lasting(message) }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        Self::unknown(&error, error.raw_os_error() == Some(Errno::IO.raw_os_error()))
    }
}

impl From<rusqlite::Error> for Reason {
    fn from(error: rusqlite::Error) -> Self {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(_) if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) => Self::passing(
                "what SQLite has beside it cannot grow; free space on its disk, or raise the limit on the \
                 size of files ('ulimit -f')",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::passing(
                "it is locked by another process; stop that process, or try again when it has finished",
            ),
            Some(ErrorCode::DiskFull) => {
                Self::passing("there is no space left on its disk; free some")
            }
            Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => Self::denied(),
            Some(ErrorCode::CannotOpen) => Self::lasting(
                "SQLite cannot open it; give this user access to the file and its directory, or allow more \
                 open files ('ulimit -n')",
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Lasting(format!("it is damaged ({error}); restore it from a backup"))
            }
            code => Self::unknown(&error, code == Some(ErrorCode::SystemIoFailure)),
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
