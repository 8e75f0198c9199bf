//! Opening a store from its settings.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{self, Path},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use petstore_storage::VersionCache;
use rusqlite::Connection;
use rustix::{fs::Access, io::Errno};
use tokio::runtime::Handle;

use crate::{
    config::SqliteConfig,
    connection::{self, SharedMemory, WRITE_TIMEOUT},
    error::{OpenError, Reason, is_busy},
    presence::Presence,
    readers::{Pool, Readers, queue},
    schema,
    store::{SqliteSettings, SqliteStore},
    version,
    writer::Writer,
};

impl SqliteStore {
    /// Opens the store at `config.path`, or creates it. Reads run in the caller's tokio runtime.
    ///
    /// # Errors
    /// [`OpenError`]. Its message is one line with the cause and its repair.
    pub fn open(config: &SqliteConfig) -> Result<Self, OpenError> {
        Self::open_with(config, &SqliteSettings::default())
    }

    /// Opens the store at `config.path` without the right to change it. The disk may be read-only. Every write fails.
    ///
    /// # Errors
    /// [`OpenError`], also if there is no store.
    pub fn open_read_only(config: &SqliteConfig) -> Result<Self, OpenError> {
        let settings = SqliteSettings { read_only: true, ..SqliteSettings::default() };
        Self::open_with(config, &settings)
    }

    /// Opens the store at `config.path` with `settings`.
    ///
    /// # Errors
    /// [`OpenError`], also if there is no store and `settings` are read-only.
    pub fn open_with(config: &SqliteConfig, settings: &SqliteSettings) -> Result<Self, OpenError> {
        let at = |reason| OpenError { path: config.path.clone(), reason };
        open(config, settings, WRITE_TIMEOUT).map_err(at)
    }
}

/// Opens the store at `config.path`. Writes wait up to `busy_timeout` for other processes.
pub(crate) fn open(
    config: &SqliteConfig,
    settings: &SqliteSettings,
    busy_timeout: Duration,
) -> Result<SqliteStore, Reason> {
    let shared_memory = SharedMemory::guard(&config.path);
    // An absolute path is never a special name of SQLite (`:memory:`, `file:…`), and stays valid if the process changes
    // its directory.
    let (path, synchronous) = (path::absolute(&config.path)?, config.synchronous);
    let read_only = settings.read_only;
    let (connection, was_created) = if read_only {
        let (version, reader) = open_known(&path, read_only)?;
        schema::require_current(version)?;
        (reader, false)
    } else {
        create(&path)?;
        require_store(&path, read_only)?;
        require_companions(&path)?;
        let mut writer = connection::open_writer(&path, synchronous, busy_timeout)?;
        let was_created = schema::create_or_check(&mut writer)?;
        use_write_ahead_log(&writer, busy_timeout)?;
        (writer, was_created)
    };
    let (versions, began) = (VersionCache::default(), Instant::now());
    // This read opens the log, which `Presence::new` needs. If the version cannot be read, requests report the error.
    if let Ok(stored) = version::current(&connection) {
        versions.observe(stored, began);
    }
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let pool = Arc::new(Pool {
        presence: Presence::new(&path, read_only)?,
        path,
        read_only,
        busy_timeout,
        synchronous,
        versions,
        commits: AtomicU64::new(0),
        writes: AtomicU64::new(0),
        max_idle: runtime.metrics().num_workers() + queue::MIN_THREADS,
        idle: Mutex::default(),
        // Beside a writer, SQLite itself removes `-shm` when the store is closed.
        _shared_memory: shared_memory.filter(|_| read_only),
    });
    let on_panic = &settings.on_task_panic;
    let readers = Readers::start(Arc::clone(&pool), runtime.clone(), on_panic)?;
    let start_writer = || Writer::start(pool, connection, runtime, on_panic);
    let writer = (!read_only).then(start_writer).transpose()?;
    let reads_while_sealed = settings.reads_while_sealed;
    Ok(SqliteStore { readers, writer, was_created, reads_while_sealed })
}

/// Opens a store for reading, if this release knows its schema. Returns the schema version (`None` if the database is
/// empty) and the connection. Unless `read_only`, closing the connection may move the log into the file.
pub(crate) fn open_known(
    path: &Path,
    read_only: bool,
) -> Result<(Option<i64>, Connection), Reason> {
    require_store(path, read_only)?;
    let reader = connection::open_reader(path, read_only)?;
    Ok((schema::version(&reader)?, reader))
}

/// Creates a missing file for its owner alone.
///
/// Closing a descriptor releases all POSIX locks of the process on the file, also SQLite's. So no other thread opens
/// the new file before this descriptor is closed. Only SQLite opens an existing file (`schema::check_file`).
fn create(path: &Path) -> Result<(), Reason> {
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop).map_err(|error| explain(error, path)),
    }
}

/// Requires a store or an empty file that this user may read and, unless `read_only`, write. Changes no file.
fn require_store(path: &Path, read_only: bool) -> Result<(), Reason> {
    let needed = if read_only { Access::READ_OK } else { Access::READ_OK | Access::WRITE_OK };
    let file = fs::metadata(path).map_err(|error| explain(error, path))?;
    if file.is_dir() {
        let file = path.join("petstore.db");
        let message = format!("it is a directory; name a file in it, such as {}", file.display());
        return Err(Reason::Lasting(message));
    }
    if !file.is_file() {
        return Err(io::Error::other("it is not a plain file").into());
    }
    rustix::fs::access(path, needed).map_err(|error| explain(error.into(), path))?;
    schema::check_file(path)?;
    schema::check_log(path)
}

/// Requires that this user may write `-wal` and `-shm`. Otherwise SQLite would open the store, and every transaction
/// would fail.
pub(crate) fn require_companions(path: &Path) -> Result<(), Reason> {
    for suffix in ["-wal", "-shm"] {
        let companion = connection::companion(path, suffix)?;
        let access = rustix::fs::access(&companion, Access::READ_OK | Access::WRITE_OK);
        if matches!(access, Err(Errno::ACCESS | Errno::PERM)) {
            return Err(Reason::Lasting(format!(
                "permission denied for {} beside it; give this user read and write access to that file, too \
                 ('chmod u+rw')",
                companion.display()
            )));
        }
    }
    Ok(())
}

/// Switches the file to a write-ahead log; the file records this mode. The switch needs an exclusive lock, for which
/// SQLite does not always wait by itself.
fn use_write_ahead_log(connection: &Connection, timeout: Duration) -> Result<(), Reason> {
    let deadline = Instant::now() + timeout;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                return Err(Reason::lasting(
                    "its file system cannot share memory between processes (no write-ahead log); put the \
                     store on a local disk",
                ));
            }
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn explain(error: io::Error, path: &Path) -> Reason {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    let directory = path.parent().unwrap_or(path);
    match (error.kind(), directory.exists()) {
        (NotFound, false) => Reason::Lasting(format!(
            "its directory {} does not exist; create it, or name another path",
            directory.display()
        )),
        (PermissionDenied, _) => Reason::denied(),
        (ReadOnlyFilesystem, _) => Reason::passing(
            "its disk is mounted read-only; mount it for writing, or name another path",
        ),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::use_write_ahead_log;
    use crate::tests::{LIMIT, Place, SHORT};

    #[test]
    fn a_new_log_waits_for_a_writer_up_to_the_limit() {
        let place = Place::new();
        let [opening, writer] = [(); 2].map(|()| place.raw());
        opening.busy_timeout(Duration::ZERO).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(use_write_ahead_log(&opening, SHORT).is_err());
        let ending = thread::spawn(move || {
            thread::sleep(SHORT);
            drop(writer);
        });
        use_write_ahead_log(&opening, LIMIT).unwrap();
        ending.join().unwrap();
    }
}
