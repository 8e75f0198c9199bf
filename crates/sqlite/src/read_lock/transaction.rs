//! The read transaction that holds the lock.

use petstore_domain::{CatalogueVersion, StoreError};
use rusqlite::{Connection, Row};

use crate::{error::Failure, version};

/// In frames: from this length on, each commit tries to bring the log into the file, so that the next
/// one can start it anew (`wal_autocheckpoint`, where nobody changes it).
pub(crate) const LONG_LOG: i64 = 1000;

type Open = dyn Fn() -> rusqlite::Result<Connection> + Send;

/// A read transaction that may be open, and the connection that it needs.
pub(super) struct ReadTransaction {
    open: Box<Open>,
    /// `None` before it is needed, and after it has failed.
    connection: Option<Connection>,
    /// SQLite's number of the snapshot that was last seen; `None` if that does not matter.
    data_version: Option<i64>,
}

impl ReadTransaction {
    /// None is open yet, and no connection.
    pub(super) fn new(open: impl Fn() -> rusqlite::Result<Connection> + Send + 'static) -> Self {
        Self { open: Box::new(open), connection: None, data_version: None }
    }

    /// Ends the transaction, and begins another one if it `may`, unless there was a write since the
    /// last snapshot: who has written may be about to write again. The version of the catalogue now;
    /// `None` if it cannot be read.
    pub(super) fn renew(&mut self, may: bool) -> Option<CatalogueVersion> {
        self.end();
        let version = self.begin(may).ok();
        if version.is_none() {
            // Reads fail for the same cause, and they report it.
            self.close();
        }
        version
    }

    fn begin(&mut self, may: bool) -> Result<CatalogueVersion, Failure<StoreError>> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => (self.open)()?,
        };
        let connection = self.connection.insert(connection);
        let data_version = data_version(connection)?;
        let seen = self.data_version.replace(data_version);
        if may && seen.is_none_or(|seen| seen == data_version) && !has_long_log(connection)? {
            // The transaction takes its lock when it first reads.
            connection.execute_batch("BEGIN")?;
        }
        version::current(connection)
    }

    /// Lets the next transaction begin whatever was written since the last snapshot.
    pub(super) fn forget_snapshot(&mut self) {
        self.data_version = None;
    }

    /// Ends the transaction if there is one.
    pub(super) fn end(&mut self) {
        let stuck = self.connection.as_ref().is_some_and(|connection| {
            !connection.is_autocommit() && connection.execute_batch("ROLLBACK").is_err()
        });
        if stuck {
            self.close();
        }
    }

    /// Ends the transaction and closes the connection.
    pub(super) fn close(&mut self) {
        self.connection = None;
        self.data_version = None;
    }

    #[cfg(test)]
    pub(super) fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_autocommit())
    }
}

/// SQLite's number for the snapshot of `connection`, which any other connection's commit changes. It
/// costs less than reading the version of the catalogue.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Whether the log is so long that a commit brings it into the file, and has not been brought there
/// whole, which is what a lock on an earlier snapshot prevents.
fn has_long_log(connection: &Connection) -> rusqlite::Result<bool> {
    // `NOOP` answers how long the log is, and how much of it is in the file, and does nothing.
    let lengths = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
    let (log, in_file): (i64, i64) =
        connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], lengths)?;
    Ok(log >= LONG_LOG && in_file < log)
}
