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

use petstore_storage::VersionCache;
use rusqlite::{Connection, OpenFlags};
use rustix::{fs::Access, io::Errno};
use tokio::runtime::Handle;

use crate::{
    config::{BusyTimeout, SqliteConfig},
    connection::{self, ReadAccess, SharedMemory},
    error::open::{OpenError, Reason, is_busy},
    pool::Pool,
    presence::Presence,
    readers::{Readers, queue},
    schema,
    store::{SqliteSettings, SqliteStore},
    version,
    writer::{Committer, Writer},
};

impl SqliteStore {
    /// Opens the store at `config.path`, or creates it. It reads in the caller's tokio runtime, so there must be one.
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
    let mut made_file = None;
    let shared_memory = SharedMemory::guard(&config.path);
    let opened = try_to_open(config, settings, busy_timeout, shared_memory, &mut made_file);
    opened.map_err(|reason| {
        if let Some(file) = made_file {
            // A remaining file may be of use to no process, and is no reason of its own.
            drop(remove_unused(&file));
        }
        OpenError { path: config.path.clone(), reason }
    })
}

fn try_to_open(
    config: &SqliteConfig,
    settings: &SqliteSettings,
    busy_timeout: BusyTimeout,
    shared_memory: Option<SharedMemory>,
    made_file: &mut Option<PathBuf>,
) -> Result<SqliteStore, Reason> {
    // An absolute path is never one of SQLite's special names (`:memory:`, `file:…`), and it stays
    // right when the process changes its directory.
    let (path, synchronous) = (path::absolute(&config.path)?, config.synchronous);
    let access = if settings.read_only { ReadAccess::ReadOnly } else { ReadAccess::Shared };
    let file = path.clone();
    let open_writer = move || connection::open_writer(&file, synchronous, busy_timeout.writer);
    let mut was_created = false;
    let connection = if settings.read_only {
        require_store(&path, access)?;
        let connection = connection::open_reader(&path, access, busy_timeout.reader)?;
        schema::require_current(&connection)?;
        connection
    } else {
        *made_file = create(&path)?.then(|| path.clone());
        require_store(&path, access)?;
        require_companions(&path)?;
        let mut connection = open_writer()?;
        was_created = schema::create_or_check(&mut connection)?;
        use_write_ahead_log(&connection, busy_timeout.writer)?;
        connection
    };
    let (versions, began) = (Arc::new(VersionCache::default()), Instant::now());
    // The first read: from here on the connection has the log open. A version that cannot be read is
    // reported by the requests that need it.
    if let Ok(stored) = version::current::<petstore_domain::StoreError>(&connection) {
        versions.observe(stored, began);
    }
    let presence = Arc::new(Presence::new(&path, access)?);
    let (runtime, on_panic) =
        (Handle::try_current().map_err(io::Error::other)?, &settings.on_task_panic);
    let max_idle = runtime.metrics().num_workers() + queue::MIN_THREADS;
    let pool = Arc::new(Pool {
        path,
        access,
        busy_timeout: busy_timeout.reader,
        max_idle,
        idle: Mutex::default(),
        _shared_memory: shared_memory,
    });
    let (versions_read, presence_read) = (Arc::clone(&versions), Arc::clone(&presence));
    let readers = Readers::start(pool, versions_read, presence_read, runtime.clone(), on_panic)?;
    let writer = if settings.read_only {
        None
    } else {
        let (open, versions) = (Box::new(open_writer), Arc::clone(&versions));
        let committer = Committer { open, versions, presence, tally: Arc::default() };
        Some(Writer::start(committer, connection, runtime, on_panic)?)
    };
    let reads_while_sealed = settings.reads_while_sealed;
    Ok(SqliteStore { readers, versions, writer, was_created, synchronous, reads_while_sealed })
}

/// Returns the version of the schema of a store that this release knows, or `None` of an empty one. The file
/// stays as it is.
pub(crate) fn known_version(path: &Path, access: ReadAccess) -> Result<Option<i64>, Reason> {
    require_store(path, access)?;
    schema::version(&connection::open_reader(path, access, BusyTimeout::default().reader)?)
}

/// Creates the file only for its owner, unless it is there. Returns whether it was not.
///
/// Closing a descriptor drops all POSIX locks of the process on the file, SQLite's too. So nobody else of
/// this process comes past here, to write to the new file, before this descriptor is closed. A file that is
/// there gets none but SQLite's own (`schema::check_file`).
fn create(path: &Path) -> Result<bool, Reason> {
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|_| true).map_err(|error| explain(error, path)),
    }
}

/// Removes the file if no store could be made of it, for example on a full disk. Another process that is making one
/// holds a lock, and one that has yet to begin finds the file gone.
fn remove_unused(path: &Path) -> Result<(), Reason> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // A journal in a file would need the space that is missing.
    connection.execute_batch("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")?;
    if fs::metadata(path)?.len() == 0 {
        fs::remove_file(path)?;
    }
    Ok(())
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
    schema::check_file(path)?;
    schema::check_log(path)
}

/// Refuses a store whose log, or the memory that it shares, this process may not write: SQLite would open it, and
/// every transaction would fail.
pub(crate) fn require_companions(path: &Path) -> Result<(), Reason> {
    let path = fs::canonicalize(path)?;
    for companion in ["-wal", "-shm"].map(|suffix| connection::beside(&path, suffix)) {
        let access = rustix::fs::access(&companion, Access::READ_OK | Access::WRITE_OK);
        if matches!(access, Err(Errno::ACCESS | Errno::PERM)) {
            return Err(Reason::Companion(companion));
        }
    }
    Ok(())
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
    } else if kind == PermissionDenied {
        Reason::Denied
    } else if kind == ReadOnlyFilesystem {
        Reason::ReadOnlyDisk
    } else {
        Reason::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use super::explain;

    #[test]
    fn what_the_file_system_refuses_is_said_with_what_to_do() {
        for (kind, expected) in [
            (io::ErrorKind::PermissionDenied, "permission denied; give this user"),
            (io::ErrorKind::ReadOnlyFilesystem, "its disk is mounted read-only; mount it"),
        ] {
            let reason = explain(kind.into(), Path::new("/x.db")).to_string();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
}
