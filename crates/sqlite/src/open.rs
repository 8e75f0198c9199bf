//! The way from a path to a database that is ours and up to date.

use std::{
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use crate::{
    config::{Patience, SqliteConfig},
    connection,
    file::DatabaseFile,
    schema::{self, SchemaError},
};

/// A store could not be opened. One line says why, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {}: {reason}", .path.display())]
pub struct OpenError {
    path: PathBuf,
    reason: Reason,
}

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
    #[error("it is damaged ({0}); restore it from a backup")]
    Damaged(#[source] rusqlite::Error),
    #[error(transparent)]
    Schema(SchemaError),
    #[error("{0}; mend that, or name another path")]
    Sqlite(#[source] rusqlite::Error),
    #[error("{0}; mend that, or name another path")]
    Io(#[from] io::Error),
}

impl OpenError {
    pub(crate) fn new(path: &Path, reason: impl Into<Reason>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

impl From<SchemaError> for Reason {
    fn from(error: SchemaError) -> Self {
        match error {
            SchemaError::Sqlite(error) => error.into(),
            foreign @ (SchemaError::Foreign(_) | SchemaError::Newer { .. }) => {
                Self::Schema(foreign)
            }
        }
    }
}

impl From<rusqlite::Error> for Reason {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            return Self::Locked;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
                Self::Denied
            }
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Sqlite(error),
        }
    }
}

/// The database file, and a connection that may write to it: the file is ours, its schema the
/// newest, its journal a write-ahead log.
pub(crate) fn open(
    config: &SqliteConfig,
    patience: Patience,
) -> Result<(DatabaseFile, Connection), Reason> {
    let file =
        DatabaseFile::open_or_create(&config.path).map_err(|error| explain(error, &config.path))?;
    schema::judge_header(&file.head::<{ schema::HEADER_LEN }>()?)?;
    let mut connection =
        connection::open_writer(&config.path, config.synchronous, patience.writer)?;
    let migrated = schema::migrate(&mut connection)?;
    use_write_ahead_log(&connection, patience.writer)?;
    if migrated {
        fold_in_the_log(&connection)?;
    }
    Ok((file, connection))
}

/// Brings the write-ahead log into the file: the number of the schema belongs in the file's own
/// header, where the next to open it looks first.
fn fold_in_the_log(connection: &Connection) -> rusqlite::Result<()> {
    // Right after the switch to the log, SQLite has not opened it yet. A checkpoint would do so by a
    // read that lasts as long as itself (`sqlite3PagerCheckpoint`), and if somebody else has written
    // meanwhile, wait for that read to end, while nobody can write.
    connection.query_row("PRAGMA data_version", [], |_| Ok(()))?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn explain(error: io::Error, path: &Path) -> Reason {
    use io::ErrorKind::{IsADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    let directory = path.parent().unwrap_or(path);
    let kind = error.kind();
    if kind == NotFound && !directory.exists() {
        Reason::NoDirectory(directory.to_owned())
    } else if kind == IsADirectory {
        Reason::Directory(path.to_owned())
    } else if [PermissionDenied, ReadOnlyFilesystem].contains(&kind) {
        Reason::Denied
    } else {
        Reason::Io(error)
    }
}

/// Switches to the write-ahead log, which a file keeps from then on. The switch needs the file for
/// itself, and SQLite does not always wait for that: somebody else may be opening it right now.
fn use_write_ahead_log(connection: &Connection, patience: Duration) -> Result<(), Reason> {
    let deadline = Instant::now() + patience;
    loop {
        let mode =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(Reason::NoWriteAheadLog),
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use std::{fs, io, path::Path, time::Duration};

    use rusqlite::{Connection, ffi};

    use super::{Reason, explain, fold_in_the_log, use_write_ahead_log};
    use crate::{Synchronous, connection};

    const DENIED: &str =
        "permission denied; give this user read and write access to the file and its directory";

    #[test]
    fn the_log_is_folded_in_though_others_write_right_after_the_switch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.db");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE t (a); PRAGMA journal_mode = DELETE").unwrap();
        let patience = Duration::from_millis(50);
        let writer = connection::open_writer(&path, Synchronous::Full, patience).unwrap();
        use_write_ahead_log(&writer, patience).unwrap();
        other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let log = || fs::metadata(folder.path().join("petstore.db-wal")).unwrap().len();
        assert!(log() > 0);
        fold_in_the_log(&writer).unwrap();
        assert_eq!(log(), 0);
    }

    #[test]
    fn what_the_file_system_refuses_is_said_with_its_mending() {
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            assert_eq!(explain(kind.into(), Path::new("/x.db")).to_string(), DENIED);
        }
    }

    #[test]
    fn what_sqlite_refuses_is_said_with_its_mending() {
        let table = [
            (ffi::SQLITE_READONLY_DIRECTORY, DENIED),
            (ffi::SQLITE_CANTOPEN, DENIED),
            (ffi::SQLITE_FULL, "there is no space left on its disk; free some"),
            (
                ffi::SQLITE_BUSY,
                "it is locked by another process; stop that process, or try again when it has \
                 finished",
            ),
            (ffi::SQLITE_CORRUPT, "it is damaged (the cause); restore it from a backup"),
            (ffi::SQLITE_IOERR, "the cause; mend that, or name another path"),
        ];
        for (code, message) in table {
            let cause = Some("the cause".to_owned());
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), cause);
            assert_eq!(Reason::from(error).to_string(), message);
        }
    }
}
