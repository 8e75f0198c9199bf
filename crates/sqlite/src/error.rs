//! How a statement fails, and how that becomes an error of the domain.

pub(crate) mod open;

use petstore_domain::{Corruption, StoreError};
use rusqlite::{Connection, ErrorCode, ffi};

/// The unique indexes of a table (`?1`) on columns as SQLite names them (`?2`).
const UNIQUE_INDEXES: &str = "SELECT group_concat(name, ', ') FROM pragma_index_list(?1) AS list \
     WHERE \"unique\" AND ?2 = (SELECT group_concat(?1 || '.' || name, ', ' ORDER BY seqno) \
     FROM pragma_index_info(list.name))";

/// Why work on a connection ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// SQLite could not do it.
    Sqlite(rusqlite::Error),
    /// SQLite could not commit it.
    Commit(rusqlite::Error),
    /// The answer is this error. In a write, it must be given before anything was written: the rest of the group is
    /// committed.
    Answer(E),
}

impl<E: From<StoreError>> Failure<E> {
    /// Returns what the caller gets, where there is no group.
    pub(crate) fn into_error(self) -> E {
        match self {
            Self::Answer(error) => error,
            Self::Sqlite(error) | Self::Commit(error) => of_statement(error).into(),
        }
    }
}

impl<E> From<rusqlite::Error> for Failure<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl<E: From<StoreError>> From<Corruption> for Failure<E> {
    fn from(corruption: Corruption) -> Self {
        Self::Answer(StoreError::from(corruption).into())
    }
}

/// Lets `?` pass on an answer of the store's.
impl<E: From<StoreError>> From<StoreError> for Failure<E> {
    fn from(error: StoreError) -> Self {
        Self::Answer(error.into())
    }
}

/// Returns whether a constraint refuses the row, and will again: SQLite's message names it.
pub(crate) fn is_refusal(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// Returns the error of one statement: refused by a constraint, else unavailable.
fn of_statement(error: rusqlite::Error) -> StoreError {
    if is_refusal(&error) { StoreError::refused(error) } else { StoreError::unavailable(error) }
}

/// As [`of_statement`], with the name of the unique index that refuses the row: SQLite's message names its columns.
pub(crate) fn of_write(connection: &Connection, error: rusqlite::Error) -> StoreError {
    let message = error.to_string();
    let columns = message.strip_prefix("UNIQUE constraint failed: ").unwrap_or_default();
    let table = columns.split('.').next();
    match connection.query_row(UNIQUE_INDEXES, (table, columns), |row| row.get::<_, String>(0)) {
        Ok(indexes) => StoreError::refused(format_args!("{message} (index {indexes})")),
        // SQLite names a constraint of another kind, and the columns of the primary key belong to no index.
        Err(_) => of_statement(error),
    }
}

/// Returns the same error for another caller of a group.
pub(crate) fn clone_for_caller(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(cause) => StoreError::unavailable(cause.to_string()),
        StoreError::Sealed(reason) => StoreError::sealed(reason),
        StoreError::Refused(reason) => StoreError::refused(reason),
        StoreError::Corrupt(corruption) => corruption.clone().into(),
    }
}

/// Returns what SQLite's "disk I/O error" leaves out: at which step.
pub(crate) fn io_step(error: &rusqlite::Error) -> &'static str {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    match code {
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => " (a synchronisation failed)",
        ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE => " (a write failed)",
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => " (a read failed)",
        ffi::SQLITE_IOERR_TRUNCATE => " (a truncation failed)",
        _ => "",
    }
}
