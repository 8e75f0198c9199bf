//! From the settings to an open store.

use std::{
    io,
    path::{self, Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use rusqlite::{Connection, ErrorCode};

use crate::{
    config::{BusyTimeout, SqliteConfig},
    connection::{self, ReadAccess},
    file::{DatabaseFile, IfMissing},
    file_limit::TooManyFiles,
    presence::Presence,
    readers::{Readers, pool::Pool},
    schema::{self, SchemaError},
    store::SqliteStore,
    version,
    version_cache::VersionCache,
    watch::Watch,
    writer::{
        Writer,
        connection::{WriterConnection, WriterSettings},
    },
};

/// A store could not be opened. One line says why, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {}: {reason}", .path.display())]
pub struct OpenError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
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
    #[error(transparent)]
    TooManyFiles(TooManyFiles),
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

impl From<SchemaError> for Reason {
    fn from(error: SchemaError) -> Self {
        match error {
            SchemaError::Sqlite(error) => error.into(),
            refused @ (SchemaError::Foreign(_)
            | SchemaError::Older { .. }
            | SchemaError::TooOld { .. }
            | SchemaError::TooNew { .. }) => Self::Schema(refused),
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

impl SqliteStore {
    /// Opens the store at `config.path`, or creates it.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to mend it.
    pub fn open(config: &SqliteConfig) -> Result<Self, OpenError> {
        open(config, BusyTimeout::default())
    }

    /// Opens the store at `config.path` as a file that this process must not change, on a disk that may be
    /// read-only. What would write fails.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store.
    pub fn open_read_only(config: &SqliteConfig) -> Result<Self, OpenError> {
        explained(config, open_to_read(config, BusyTimeout::default()))
    }
}

/// Opens the store at `config.path`, or creates it.
pub(crate) fn open(
    config: &SqliteConfig,
    busy_timeout: BusyTimeout,
) -> Result<SqliteStore, OpenError> {
    explained(config, open_parts(config, busy_timeout))
}

/// With the path in front of the reason.
fn explained<T>(config: &SqliteConfig, opened: Result<T, Reason>) -> Result<T, OpenError> {
    opened.map_err(|reason| {
        // SQLite says of both that it cannot open a file.
        let too_many = matches!(reason, Reason::Denied | Reason::Io(_)).then(TooManyFiles::now);
        let reason = too_many.flatten().map_or(reason, Reason::TooManyFiles);
        OpenError { path: config.path.clone(), reason }
    })
}

fn open_parts(config: &SqliteConfig, busy_timeout: BusyTimeout) -> Result<SqliteStore, Reason> {
    // An absolute path is never one of SQLite's special names (`:memory:`, `file:…`), and it stays
    // right when the process changes its directory.
    let path = path::absolute(&config.path)?;
    let file = open_file(&path, IfMissing::Create)?;
    let settings = WriterSettings {
        path: path.clone(),
        synchronous: config.synchronous,
        busy_timeout: busy_timeout.writer,
    };
    let mut connection = settings.open()?;
    let was_created = schema::create_or_check(&mut connection)?;
    use_write_ahead_log(&connection, busy_timeout.writer)?;
    let mut store = reading(config, ReadAccess::Shared, busy_timeout, file, &connection)?;
    store.writer = Some(Writer::start(
        WriterConnection::new(settings, connection)?,
        Arc::clone(&store.versions),
        Arc::clone(&store.readers.presence),
    )?);
    store.was_created = was_created;
    Ok(store)
}

/// The version of the schema of a store that this release knows, or `None` of an empty one, and the file,
/// which stays as it is.
pub(crate) fn known_version(
    config: &SqliteConfig,
    access: ReadAccess,
) -> Result<(DatabaseFile, Option<i32>), OpenError> {
    let find = || {
        let path = path::absolute(&config.path)?;
        let file = open_file(&path, IfMissing::Refuse)?;
        let timeout = BusyTimeout::default().reader;
        let connection = connection::open_reader(&path, access, timeout)?;
        Ok((file, schema::version(&connection)?))
    };
    explained(config, find())
}

fn open_to_read(config: &SqliteConfig, busy_timeout: BusyTimeout) -> Result<SqliteStore, Reason> {
    let path = path::absolute(&config.path)?;
    let file = open_file(&path, IfMissing::Refuse)?;
    let connection = connection::open_reader(&path, ReadAccess::ReadOnly, busy_timeout.reader)?;
    schema::require_current(&connection)?;
    reading(config, ReadAccess::ReadOnly, busy_timeout, file, &connection)
}

/// A store without a writer. `connection` has been opened to its file.
fn reading(
    config: &SqliteConfig,
    access: ReadAccess,
    busy_timeout: BusyTimeout,
    file: DatabaseFile,
    connection: &Connection,
) -> Result<SqliteStore, Reason> {
    let path = path::absolute(&config.path)?;
    let pool = Arc::new(Pool::new(path.clone(), access, busy_timeout.reader, file.share()));
    let versions = Arc::new(VersionCache::new());
    let moment = versions.moment();
    // The first read: from here on the connection has the log open. A version that cannot be read is
    // reported by the requests that need it.
    versions.confirm(moment, version::current::<StoreError>(connection).ok());
    let presence = Arc::new(Presence::new(&path, &file, access)?);
    let watch = Watch::start(Arc::clone(&pool), Arc::clone(&versions), Arc::clone(&presence))?;
    let readers = Readers::new(pool, watch, presence)?;
    let synchronous = config.synchronous;
    Ok(SqliteStore { readers, versions, writer: None, was_created: false, synchronous, file })
}

/// Opens the file, which must be a store by its header, or empty where one may be created.
fn open_file(path: &Path, if_missing: IfMissing) -> Result<DatabaseFile, Reason> {
    let file = DatabaseFile::open(path, if_missing).map_err(|error| explain(error, path))?;
    schema::check_header(&file.head::<{ schema::HEADER_LEN }>()?, path)?;
    Ok(file)
}

/// Switches to the write-ahead log, which a file keeps from then on. The switch needs the file for
/// itself, and SQLite does not always wait for that: another process may be opening it right now.
fn use_write_ahead_log(connection: &Connection, timeout: Duration) -> Result<(), Reason> {
    let deadline = Instant::now() + timeout;
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

pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use rusqlite::ffi;

    use super::{Reason, explain};

    const DENIED: &str =
        "permission denied; give this user read and write access to the file and its directory";

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
