//! The failures of statements and of opening a store, and their conversion to errors of the domain.

use std::{fmt, io, path::PathBuf};

use petstore_domain::{ArchiveError, Corruption, StoreError};
use petstore_storage::{SchemaError, opening_error};
use rusqlite::{Connection, ErrorCode, Row, ffi};
use rustix::io::Errno;

/// Selects the names of the unique indexes of table `?1` on the columns `?2`, which are named as in SQLite's messages.
const UNIQUE_INDEXES: &str = "SELECT group_concat(name, ', ') FROM pragma_index_list(?1) AS list \
     WHERE \"unique\" AND ?2 = (SELECT group_concat(?1 || '.' || name, ', ' ORDER BY seqno) \
     FROM pragma_index_info(list.name))";

/// The failure of work on a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A statement failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The commit failed.
    #[error(transparent)]
    Commit(rusqlite::Error),
    /// An error for the caller. An addition returns such an error only before its first write, because the group is
    /// committed nevertheless.
    #[error(transparent)]
    Answer(#[from] ArchiveError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Answer(error.into())
    }
}

impl From<Corruption> for Failure {
    fn from(corruption: Corruption) -> Self {
        StoreError::from(corruption).into()
    }
}

/// Makes the error for the caller of a read, or of a change of the state.
impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answer(error) => of_archive(error),
            Failure::Sqlite(error) | Failure::Commit(error) => of_statement(error),
        }
    }
}

/// Converts the error of work that writes no archive rows. Such work makes only [`ArchiveError::Store`].
pub(crate) fn of_archive(error: ArchiveError) -> StoreError {
    let ArchiveError::Store(error) = error else { return StoreError::refused(error) };
    error
}

/// Returns whether a constraint refuses the row.
pub(crate) fn is_refusal(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// Returns whether the statement met a damaged page of the file.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// Returns whether the disk is full. SQLite also reports that if no identifier is left.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Returns the error of a statement: [`Refused`](StoreError::Refused) by a constraint, otherwise
/// [`Unavailable`](StoreError::Unavailable).
fn of_statement(error: rusqlite::Error) -> StoreError {
    if is_refusal(&error) { StoreError::refused(error) } else { StoreError::unavailable(error) }
}

/// Returns the error of a write. Adds the name of the unique index that refuses the row, because SQLite's message has
/// only its columns.
pub(crate) fn of_write(connection: &Connection, error: rusqlite::Error) -> StoreError {
    let message = error.to_string();
    let columns = message.strip_prefix("UNIQUE constraint failed: ").unwrap_or_default();
    let table = columns.split('.').next();
    match connection.query_row(UNIQUE_INDEXES, (table, columns), |row| row.get::<_, String>(0)) {
        Ok(indexes) => StoreError::refused(format_args!("{message} (index {indexes})")),
        // SQLite's message names a constraint that is no index. An integer primary key has no index, so the message
        // with its column is enough.
        Err(_) => of_statement(error),
    }
}

/// Returns the error for a row with a column of the wrong type. The first column is the identifier.
pub(crate) fn unreadable(row: &Row<'_>, kind: &str, error: &rusqlite::Error) -> Corruption {
    match row.get::<_, i64>(0) {
        Ok(id) => Corruption::new(format_args!("{kind} {id}"), error),
        Err(_) => Corruption::new(kind, error),
    }
}

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
        let passing = [Errno::IO, Errno::NOSPC, Errno::DQUOT].map(|it| Some(it.raw_os_error()));
        Self::unknown(&error, passing.contains(&error.raw_os_error()))
    }
}

impl From<rusqlite::Error> for Reason {
    fn from(error: rusqlite::Error) -> Self {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(_) if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) => Self::passing(
                "its '-shm' file cannot grow; free space on its disk, or raise the limit on the size of \
                 files ('ulimit -f')",
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
    use std::path::Path;

    use petstore_domain::StoreError;
    use petstore_storage::SchemaError;
    use rusqlite::ffi;
    use rustix::io::Errno;

    use super::{OpenError, Reason, is_busy, is_damage, is_full};
    use crate::open::explain;

    fn may_pass(reason: Reason) -> bool {
        let error = StoreError::from(OpenError { path: "x".into(), reason });
        matches!(error, StoreError::Unavailable(_))
    }

    #[test]
    fn an_error_of_sqlite_names_the_remedy_and_is_temporary_or_permanent() {
        let denied =
            "permission denied; give this user read and write access to the file and its directory";
        let locked =
            "it is locked by another process; stop that process, or try again when it has finished";
        let table = [
            (ffi::SQLITE_READONLY_DIRECTORY, denied, false),
            (
                ffi::SQLITE_CANTOPEN,
                "SQLite cannot open it; give this user access to the file and its directory, or allow \
                 more open files ('ulimit -n')",
                false,
            ),
            (ffi::SQLITE_FULL, "there is no space left on its disk; free some", true),
            (
                ffi::SQLITE_IOERR_SHMSIZE,
                "its '-shm' file cannot grow; free space on its disk, or raise the limit on the size of \
                 files ('ulimit -f')",
                true,
            ),
            (ffi::SQLITE_BUSY, locked, true),
            (ffi::SQLITE_LOCKED, locked, true),
            (ffi::SQLITE_PERM, denied, false),
            (ffi::SQLITE_CORRUPT, "it is damaged (the cause); restore it from a backup", false),
            (ffi::SQLITE_NOTADB, "it is damaged (the cause); restore it from a backup", false),
            (ffi::SQLITE_IOERR, "the cause; mend that, or name another path", true),
            (ffi::SQLITE_MISUSE, "the cause; mend that, or name another path", false),
        ];
        for (code, message, passes) in table {
            let cause = Some("the cause".to_owned());
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), cause);
            let is_lock = [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED].contains(&code);
            assert_eq!(is_busy(&error), is_lock, "{error}");
            assert_eq!(is_full(&error), code == ffi::SQLITE_FULL, "{error}");
            assert_eq!(is_damage(&error), code == ffi::SQLITE_CORRUPT, "{error}");
            let reason = Reason::from(error);
            assert_eq!(reason.to_string(), message);
            assert_eq!(may_pass(reason), passes, "{message}");
        }
        for (errno, passes) in [
            (Errno::IO, true),
            (Errno::NOSPC, true),
            (Errno::DQUOT, true),
            (Errno::ROFS, true),
            (Errno::ACCESS, false),
            (Errno::NOTDIR, false),
        ] {
            assert_eq!(may_pass(explain(errno.into(), Path::new("/x"))), passes, "{errno}");
        }
        assert!(!may_pass(Reason::Foreign("a song")));
        assert!(!may_pass(SchemaError::Older { actual: 1, known: 2 }.into()));
    }
}
