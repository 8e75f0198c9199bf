//! Connections and their settings.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::config::Synchronous;

/// How often a connection that waits for the write lock asks for it.
///
/// SQLite's own wait asks ever more rarely, down to every 100 ms, and so misses the short moments in
/// which a busy process leaves the lock free (`writer/commit_delay.rs`).
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The write-ahead log is cut back to this size, in bytes, when it starts anew.
const JOURNAL_SIZE_LIMIT: i64 = 16 * 1024 * 1024;

/// The page cache of a reader, in KiB.
const READER_CACHE: i64 = 8 * 1024;

/// A connection that may write. It waits up to `busy_timeout` for other writers.
pub(crate) fn open_writer(
    path: &Path,
    synchronous: Synchronous,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let mut connection = open(path)?;
    poll_while_busy(&mut connection, busy_timeout)?;
    connection.pragma_update(None, "synchronous", synchronous.as_str())?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT)?;
    // What a damaged page holds must not be built upon. Readers, for whom this check would be the
    // largest part of a page's cost, pass each row through the domain's own checks.
    connection.pragma_update(None, "cell_size_check", true)?;
    // The schema's checks are for other writers. What comes through here has passed the domain's, and
    // to check a status again, SQLite would make a table of the three for each row: an addition in a
    // group of 50 would take 29,600 instructions and not 11,900.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    Ok(connection)
}

/// A connection that cannot write, whatever statement it is given.
pub(crate) fn open_reader(path: &Path, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    let connection = open(path)?;
    connection.busy_timeout(busy_timeout)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    Ok(connection)
}

/// SQLite does not create the file (`file.rs` does), and it takes no lock on the connection itself:
/// Rust's types make sure that one thread at a time uses it.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The plan of a statement depends on its text alone, never on the values bound to it.
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
