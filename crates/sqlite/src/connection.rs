//! Connections and their settings.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, config::DbConfig, ffi};
use rustix::fs::{Access, access};

use crate::config::Synchronous;

/// How often a connection that waits for the write lock asks for it.
///
/// SQLite's own wait asks ever more rarely, down to every 100 ms, and so misses the short moments in
/// which a busy process leaves the lock free (`writer.rs`).
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The write-ahead log is cut back to this size, in bytes, when it starts anew.
const JOURNAL_SIZE_LIMIT: i64 = 16 * 1024 * 1024;

/// The page cache of a reader, in KiB. It holds the inner pages of ten million animals.
const READER_CACHE: i64 = 4 * 1024;

/// How a file is opened by those who only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadAccess {
    /// Beside a writer of this process. The last connection that is closed brings the write-ahead log into
    /// the file.
    Shared,
    /// As a file that this process must not change.
    ReadOnly,
}

/// Statements of a connection, each prepared at its first use and held from then on. `prepare_cached` takes some 1,700
/// instructions more for each use.
pub(crate) struct Statements<'c> {
    pub(crate) connection: &'c Connection,
    held: Vec<(&'static str, Statement<'c>)>,
}

impl<'c> Statements<'c> {
    /// Holds none yet.
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, held: Vec::new() }
    }

    /// Returns the statement with this text.
    pub(crate) fn get(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        let found = self.held.iter().position(|(held, _)| *held == sql);
        let index = found.unwrap_or(self.held.len());
        if found.is_none() {
            self.held.push((sql, self.connection.prepare(sql)?));
        }
        Ok(&mut self.held[index].1)
    }
}

/// Returns a connection that may write. It waits up to `busy_timeout` for other writers.
pub(crate) fn open_writer(
    path: &Path,
    synchronous: Synchronous,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let connection = open_checking_writer(path, synchronous, busy_timeout)?;
    // The schema's checks are for other writers. What comes through here has passed the domain's, and
    // to check a status again, SQLite would make a table of the three for each row: an addition in a
    // group of 50 would take 29,600 instructions and not 11,900.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    // `version.rs` does what the schema's triggers do for other writers.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    Ok(connection)
}

/// Returns a connection that may write, and keeps the schema's checks.
pub(crate) fn open_checking_writer(
    path: &Path,
    synchronous: Synchronous,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    poll_while_busy(&mut connection, busy_timeout)?;
    connection.pragma_update(None, "synchronous", synchronous.as_str())?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT)?;
    // The content of a damaged page must not be built upon. Readers, for whom this check would be the
    // largest part of a page's cost, pass each row through the domain's own checks.
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Returns a connection that cannot write, whatever statement it is given.
pub(crate) fn open_reader(
    path: &Path,
    access: ReadAccess,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let connection = match access {
        ReadAccess::Shared => open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        ReadAccess::ReadOnly => open_read_only(path)?,
    };
    connection.busy_timeout(busy_timeout)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    Ok(connection)
}

/// Where there is a write-ahead log, the last connection that may write would bring it into the file when it
/// is closed, so this one may not. Where there is none, it may: then it takes away again what SQLite puts
/// beside a file that is open. Where it could not take that away (the file is read-only), or SQLite can put nothing
/// there (the disk is), nobody else changes the file, and SQLite is told so.
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    if access(path, Access::WRITE_OK).is_err() && !is_open_elsewhere(path)? {
        return open_unchanging(path);
    }
    let has_log = log(path).is_some();
    let connection =
        if has_log { open_logged(path) } else { open(path, OpenFlags::SQLITE_OPEN_READ_WRITE) };
    let opened = connection.and_then(|connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    match opened {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) && !has_log => {
            open_unchanging(path)
        }
        opened => opened,
    }
}

/// Opens a file with its log, and leaves both as they are when the connection is closed. Only a user who may write the
/// file may add a missing `-shm`: [`SharedMemory`] could not remove it for another one.
pub(crate) fn open_logged(path: &Path) -> rusqlite::Result<Connection> {
    if access(path, Access::WRITE_OK).is_err() && SharedMemory::is_missing(path) {
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), None));
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Removes the `-shm` of a log when it is dropped. SQLite adds that file to a log that has none, and a connection that
/// only reads does not remove it.
#[derive(Debug)]
pub(crate) struct SharedMemory(PathBuf);

impl SharedMemory {
    /// Returns the guard of a store with a log but no `-shm`, for the time that the store is read.
    pub(crate) fn guard(path: &Path) -> Option<Self> {
        if Self::is_missing(path) { fs::canonicalize(path).ok().map(Self) } else { None }
    }

    fn is_missing(path: &Path) -> bool {
        log(path).is_some() && companion(path, "-shm").is_some_and(|file| !file.exists())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // While it holds the exclusive lock, no connection has the file open. A new one opens `-shm` after it has a lock.
        let exclusive = || -> rusqlite::Result<Connection> {
            let connection = open(&self.0, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(connection)
        };
        // After an error, another connection has the file open, and removes `-shm` itself.
        if let Ok(_locked) = exclusive() {
            drop(fs::remove_file(beside(&self.0, "-shm")));
        }
    }
}

/// Returns whether a process has the file open, or was killed while it had: SQLite then has files beside it.
fn is_open_elsewhere(path: &Path) -> rusqlite::Result<bool> {
    // SQLite names them after the file itself, also where `path` is a symbolic link to it.
    let path = fs::canonicalize(path).map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?;
    Ok(["-wal", "-journal"].iter().any(|suffix| fs::exists(beside(&path, suffix)).unwrap_or(true)))
}

/// Returns a connection to a file as one that nobody changes: its locks and its log are left alone, and nothing
/// is put beside it.
pub(crate) fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    open(&immutable(path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Returns the URL of a file that nobody changes.
fn immutable(path: &Path) -> PathBuf {
    let mut url = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => url.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            // Writing to a string does not fail.
            _ => drop(write!(url, "%{byte:02X}")),
        }
    }
    PathBuf::from(url + "?immutable=1")
}

/// Returns the write-ahead log of the file at `path`, if something is in it.
pub(crate) fn log(path: &Path) -> Option<PathBuf> {
    companion(path, "-wal").filter(|log| fs::metadata(log).is_ok_and(|log| log.len() > 0))
}

/// Returns the path of a file that SQLite has beside the one at `path`. SQLite follows symbolic links before it adds the
/// suffix.
fn companion(path: &Path, suffix: &str) -> Option<PathBuf> {
    Some(beside(&fs::canonicalize(path).ok()?, suffix))
}

/// Returns the path of a file that belongs to the one at `path`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// SQLite does not create the file (`open.rs` does), and it takes no lock on the connection itself:
/// Rust's types make sure that one thread at a time uses it.
fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The plan of a statement depends only on its text, never on the values bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Lets the connection ask for a lock every [`POLL_INTERVAL`], for up to `timeout`.
fn poll_while_busy(connection: &mut Connection, timeout: Duration) -> rusqlite::Result<()> {
    let mut began = Instant::now();
    connection.busy_handler(Some(move |polls| {
        if polls == 0 {
            began = Instant::now();
        }
        let wait = began.elapsed() < timeout;
        if wait {
            thread::sleep(POLL_INTERVAL);
        }
        wait
    }))
}
