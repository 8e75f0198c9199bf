//! The failures of statements, and their conversion to errors of the domain.

pub(crate) mod open;

use petstore_domain::{Corruption, StoreError};
use rusqlite::{Connection, ErrorCode, Row};

/// Selects the names of the unique indexes of table `?1` on the columns `?2`, which are named as in SQLite's messages.
const UNIQUE_INDEXES: &str = "SELECT group_concat(name, ', ') FROM pragma_index_list(?1) AS list \
     WHERE \"unique\" AND ?2 = (SELECT group_concat(?1 || '.' || name, ', ' ORDER BY seqno) \
     FROM pragma_index_info(list.name))";

/// The failure of work on a connection.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// A statement failed.
    Sqlite(rusqlite::Error),
    /// The commit failed.
    Commit(rusqlite::Error),
    /// An error for the caller. An addition returns such an error only before its first write, because the rest of the
    /// group is committed.
    Answer(E),
}

impl<E: From<StoreError>> Failure<E> {
    /// Returns the error for the caller of a read, or of a write outside of a group.
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

impl<E: From<StoreError>> From<StoreError> for Failure<E> {
    fn from(error: StoreError) -> Self {
        Self::Answer(error.into())
    }
}

/// Returns whether a constraint refuses the row.
pub(crate) fn is_refusal(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
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

/// Returns the error of a write. Adds the name of the unique index that refuses the row, because SQLite's message has only
/// its columns.
pub(crate) fn of_write(connection: &Connection, error: rusqlite::Error) -> StoreError {
    let message = error.to_string();
    let columns = message.strip_prefix("UNIQUE constraint failed: ").unwrap_or_default();
    let table = columns.split('.').next();
    match connection.query_row(UNIQUE_INDEXES, (table, columns), |row| row.get::<_, String>(0)) {
        Ok(indexes) => StoreError::refused(format_args!("{message} (index {indexes})")),
        // SQLite's message names every other constraint. A primary key has no index.
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

/// Returns a copy of the error for another caller.
pub(crate) fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(cause) => StoreError::unavailable(cause.to_string()),
        StoreError::Sealed(reason) => StoreError::sealed(reason),
        StoreError::Refused(reason) => StoreError::refused(reason),
        StoreError::Corrupt(corruption) => corruption.clone().into(),
    }
}
