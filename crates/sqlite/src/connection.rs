//! Connections and their settings.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, config::DbConfig, ffi};
use rustix::fs::{Access, access};

use crate::config::Synchronous;

/// The longest wait for a write of another process, also when a store is opened. Tests pass a shorter time.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest time that a read, or the removal of `-shm`, waits for a lock and blocks its thread. A read waits only while
/// another connection recovers the write-ahead log.
const READ_TIMEOUT: Duration = Duration::from_millis(250);

/// The interval at which a waiting connection tries to take the write lock.
///
/// SQLite's own busy handler backs off to 100 ms, and would miss the short times in which a busy process releases the
/// lock (`writer.rs`).
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The size in bytes to which SQLite truncates the write-ahead log when it resets the log.
const JOURNAL_SIZE_LIMIT: i64 = 16 * 1024 * 1024;

/// The size in KiB of SQLite's cache of a reading connection: enough for the inner pages of the tree of ten million
/// animals.
const READER_CACHE: i64 = 4 * 1024;

/// Statements of a connection, which are prepared at their first use and held. `prepare_cached` takes some 1,700 more
/// instructions for each use.
pub(crate) struct Statements<'c> {
    pub(crate) connection: &'c Connection,
    held: Vec<(&'static str, Statement<'c>)>,
}

impl<'c> Statements<'c> {
    /// Makes an empty list for a connection.
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

/// Opens a connection for petstore's own writes, which waits up to `busy_timeout` for other writers.
pub(crate) fn open_writer(
    path: &Path,
    synchronous: Synchronous,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let connection = open_checking_writer(path, synchronous, busy_timeout)?;
    // The schema's checks are for other writers; the domain has checked petstore's rows. SQLite builds a table of the
    // three statuses for each row that it checks. With these checks, an addition in a group of 50 would take 29,600
    // instructions instead of 11,900.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    // The triggers are for other writers; `version.rs` does their work here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    Ok(connection)
}

/// Opens a connection that may write, with the schema's checks and triggers. Tries to take a lock every
/// [`POLL_INTERVAL`], for up to `busy_timeout`.
pub(crate) fn open_checking_writer(
    path: &Path,
    synchronous: Synchronous,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let mut connection = open_shared(path)?;
    let mut began = Instant::now();
    connection.busy_handler(Some(move |polls| {
        if polls == 0 {
            began = Instant::now();
        }
        let wait = began.elapsed() < busy_timeout;
        if wait {
            thread::sleep(POLL_INTERVAL);
        }
        wait
    }))?;
    connection.pragma_update(None, "synchronous", synchronous as u8)?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT)?;
    // A damaged page of the file must not be changed. Connections that only read skip this check, which would be the
    // largest cost of a list of animals. The domain checks each row that they read.
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Opens a connection on which no statement can write. If `read_only`, this process must not change the files.
/// Otherwise, the last connection that is closed moves the write-ahead log into the file.
pub(crate) fn open_reader(path: &Path, read_only: bool) -> rusqlite::Result<Connection> {
    let connection = if read_only { open_read_only(path)? } else { open_shared(path)? };
    connection.busy_timeout(READ_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    Ok(connection)
}

/// Opens a connection that may write.
fn open_shared(path: &Path) -> rusqlite::Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens a connection that leaves all files unchanged when it is closed:
/// - With a write-ahead log, the connection is read-only. A connection that may write would move the log into the file.
/// - Without a log, the connection may write, so that SQLite can remove the files that it adds.
/// - Without a log, and if the file or its disk is read-only, the file is opened as immutable, so SQLite adds no files.
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    if access(path, Access::WRITE_OK).is_err() && !is_open_elsewhere(path) {
        return open_unchanging(path);
    }
    let has_log = log(path).is_some();
    let connection = if has_log { open_logged(path) } else { open_shared(path) };
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

/// Opens a file and its log. Closing the connection leaves both unchanged. Fails if `-shm` is missing and this user may
/// not write the file: the user could not remove the `-shm` that SQLite adds.
pub(crate) fn open_logged(path: &Path) -> rusqlite::Result<Connection> {
    if access(path, Access::WRITE_OK).is_err() && SharedMemory::is_missing(path) {
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), None));
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Removes the `-shm` file when it is dropped. SQLite adds a `-shm` to a log that has none, and a read-only connection
/// leaves the `-shm` behind.
pub(crate) struct SharedMemory(PathBuf);

impl SharedMemory {
    /// Returns a guard if the store has a log but no `-shm`. The caller holds the guard while it reads the store.
    pub(crate) fn guard(path: &Path) -> Option<Self> {
        if Self::is_missing(path) { fs::canonicalize(path).ok().map(Self) } else { None }
    }

    fn is_missing(path: &Path) -> bool {
        log(path).is_some() && companion(path, "-shm").is_ok_and(|file| !file.exists())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // The exclusive lock proves that no other connection has the file open. A new connection opens `-shm` only
        // after it has a lock.
        let exclusive = || -> rusqlite::Result<Connection> {
            let connection = open_shared(&self.0)?;
            connection.busy_timeout(READ_TIMEOUT)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(connection)
        };
        // An error means that another connection has the file open and uses `-shm`.
        if let Ok(_locked) = exclusive() {
            drop(fs::remove_file(beside(&self.0, "-shm")));
        }
    }
}

/// Returns whether a process has the file open, or was killed while the file was open. SQLite's files beside it show
/// both.
fn is_open_elsewhere(path: &Path) -> bool {
    ["-wal", "-journal"]
        .iter()
        .any(|suffix| companion(path, suffix).and_then(fs::exists).unwrap_or(true))
}

/// Opens a file as immutable: SQLite ignores its locks and its log, and adds no files.
pub(crate) fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut url = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        // Writing to a string never fails.
        let _ = write!(url, "%{byte:02X}");
    }
    let url = PathBuf::from(url + "?immutable=1");
    open(&url, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Returns the path of the write-ahead log of the file at `path`, unless the log is missing or empty.
pub(crate) fn log(path: &Path) -> Option<PathBuf> {
    companion(path, "-wal").ok().filter(|log| fs::metadata(log).is_ok_and(|log| log.len() > 0))
}

/// Returns the path of a file that SQLite keeps beside `path`. If `path` is a symbolic link, SQLite keeps it beside the
/// link's target.
pub(crate) fn companion(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    Ok(beside(&fs::canonicalize(path)?, suffix))
}

/// Returns `path` with `suffix`, such as `-wal`, behind its file name.
#[must_use]
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens an existing file. `open.rs` creates a missing file. The connection needs no mutex, because Rust's types let
/// one thread use it at a time.
fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(WRITE_TIMEOUT)?;
    // The plan of a statement depends on its text alone, not on the values bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}
