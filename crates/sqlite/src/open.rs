//! From the settings to an open store.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{self, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use rusqlite::{Connection, ErrorCode};
use rustix::fs::Access;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{BusyTimeout, SqliteConfig},
    connection::{self, ReadAccess},
    pool::Pool,
    presence::Presence,
    readers::Readers,
    schema::{self, SchemaError},
    store::{SqliteSettings, SqliteStore},
    version,
    version_cache::VersionCache,
    watch::Watch,
    writer::{
        Writer,
        connection::{WriterConnection, WriterSettings},
    },
};

/// A store could not be opened. One line says why, and how to fix it.
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
            Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => Self::Denied,
            Some(ErrorCode::CannotOpen) => Self::CannotOpen,
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
    /// [`OpenError`]; the message is one line that says what is wrong and how to fix it.
    pub fn open(config: &SqliteConfig) -> Result<Self, OpenError> {
        Self::open_with(config, &SqliteSettings::default())
    }

    /// Opens the store at `config.path` as a file that this process must not change, on a disk that may be
    /// read-only. What would write fails.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store.
    pub fn open_read_only(config: &SqliteConfig) -> Result<Self, OpenError> {
        let settings = SqliteSettings { read_only: true, ..SqliteSettings::default() };
        Self::open_with(config, &settings)
    }

    /// Opens the store at `config.path`, as the settings say.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store and none is to be created.
    pub fn open_with(config: &SqliteConfig, settings: &SqliteSettings) -> Result<Self, OpenError> {
        open(config, settings, BusyTimeout::default())
    }
}

/// Opens the store at `config.path`, as the settings say.
pub(crate) fn open(
    config: &SqliteConfig,
    settings: &SqliteSettings,
    busy_timeout: BusyTimeout,
) -> Result<SqliteStore, OpenError> {
    let open = if settings.read_only { open_to_read } else { open_or_create };
    explained(config, open(config, busy_timeout, &settings.on_task_panic))
}

/// With the path in front of the reason.
fn explained<T>(config: &SqliteConfig, opened: Result<T, Reason>) -> Result<T, OpenError> {
    opened.map_err(|reason| OpenError { path: config.path.clone(), reason })
}

fn open_or_create(
    config: &SqliteConfig,
    busy_timeout: BusyTimeout,
    on_panic: &CancellationToken,
) -> Result<SqliteStore, Reason> {
    // An absolute path is never one of SQLite's special names (`:memory:`, `file:…`), and it stays
    // right when the process changes its directory.
    let path = path::absolute(&config.path)?;
    create(&path)?;
    require_store(&path, ReadAccess::Shared)?;
    let settings = WriterSettings {
        path: path.clone(),
        synchronous: config.synchronous,
        busy_timeout: busy_timeout.writer,
    };
    let mut connection = settings.open()?;
    let was_created = schema::create_or_check(&mut connection)?;
    use_write_ahead_log(&connection, busy_timeout.writer)?;
    let mut store = reading(config, ReadAccess::Shared, busy_timeout, &connection, on_panic)?;
    store.writer = Some(Writer::start(
        WriterConnection::new(settings, connection)?,
        Arc::clone(&store.versions),
        Arc::clone(&store.readers.presence),
        on_panic,
    )?);
    store.was_created = was_created;
    Ok(store)
}

/// The version of the schema of a store that this release knows, or `None` of an empty one. The file stays
/// as it is.
pub(crate) fn known_version(
    config: &SqliteConfig,
    access: ReadAccess,
) -> Result<Option<i32>, OpenError> {
    let find = || {
        let path = path::absolute(&config.path)?;
        require_store(&path, access)?;
        let timeout = BusyTimeout::default().reader;
        let connection = connection::open_reader(&path, access, timeout)?;
        Ok(schema::version(&connection)?)
    };
    explained(config, find())
}

fn open_to_read(
    config: &SqliteConfig,
    busy_timeout: BusyTimeout,
    on_panic: &CancellationToken,
) -> Result<SqliteStore, Reason> {
    let path = path::absolute(&config.path)?;
    require_store(&path, ReadAccess::ReadOnly)?;
    let connection = connection::open_reader(&path, ReadAccess::ReadOnly, busy_timeout.reader)?;
    schema::require_current(&connection)?;
    reading(config, ReadAccess::ReadOnly, busy_timeout, &connection, on_panic)
}

/// A store without a writer. `connection` has been opened to its file.
fn reading(
    config: &SqliteConfig,
    access: ReadAccess,
    busy_timeout: BusyTimeout,
    connection: &Connection,
    on_panic: &CancellationToken,
) -> Result<SqliteStore, Reason> {
    let path = path::absolute(&config.path)?;
    let pool = Arc::new(Pool::new(path.clone(), access, busy_timeout.reader));
    let versions = Arc::new(VersionCache::new());
    let moment = versions.moment();
    // The first read: from here on the connection has the log open. A version that cannot be read is
    // reported by the requests that need it.
    versions.confirm(moment, version::current::<StoreError>(connection).ok());
    let presence = Arc::new(Presence::new(&path, access)?);
    let runtime = Handle::try_current().ok();
    let watch = Watch::start(
        on_panic.clone(),
        runtime.clone(),
        Arc::clone(&pool),
        Arc::clone(&versions),
        Arc::clone(&presence),
    )?;
    let readers = Readers::new(runtime, pool, watch, presence);
    let synchronous = config.synchronous;
    Ok(SqliteStore { readers, versions, writer: None, was_created: false, synchronous })
}

/// Creates the file for its owner alone, unless it is there.
///
/// Closing a descriptor drops all POSIX locks of the process on the file, SQLite's too. So nobody else of
/// this process comes past here, to write to the new file, before this descriptor is closed. A file that is
/// there gets none but SQLite's own (`schema::check_file`).
fn create(path: &Path) -> Result<(), Reason> {
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop).map_err(|error| explain(error, path)),
    }
}

/// Refuses what is neither a store nor an empty file, and what may not be opened so. It stays as it is.
fn require_store(path: &Path, access: ReadAccess) -> Result<(), Reason> {
    let needed = match access {
        ReadAccess::Shared => Access::READ_OK | Access::WRITE_OK,
        ReadAccess::ReadOnly => Access::READ_OK,
    };
    let found = fs::metadata(path).and_then(|file| {
        if file.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if file.is_file() {
            Ok(rustix::fs::access(path, needed)?)
        } else {
            Err(io::Error::other("it is not a plain file"))
        }
    });
    found.map_err(|error| explain(error, path))?;
    Ok(schema::check_file(path)?)
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
    fn what_the_file_system_refuses_is_said_with_what_to_do() {
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            assert_eq!(explain(kind.into(), Path::new("/x.db")).to_string(), DENIED);
        }
    }

    #[test]
    fn what_sqlite_refuses_is_said_with_what_to_do() {
        let table = [
            (ffi::SQLITE_READONLY_DIRECTORY, DENIED),
            (
                ffi::SQLITE_CANTOPEN,
                "SQLite cannot open it; give this user access to the file and its directory, or allow \
                 more open files ('ulimit -n')",
            ),
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
