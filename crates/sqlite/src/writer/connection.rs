//! The connection of the writer, which is opened anew after a failure that leaves it in doubt.
//!
//! When a synchronisation has failed, the system may forget what it could not write and report success
//! the next time, and the connection's cache still holds it. So nothing more is written through a
//! connection on which a transaction failed, unless it was for the write lock or for space: then SQLite
//! has rolled back, and nothing is in doubt.

use std::{path::PathBuf, sync::Arc, time::Duration};

use petstore_domain::{StoreError, Writer};
use rusqlite::{Connection, ErrorCode, MAIN_DB, Transaction, TransactionBehavior, ffi};

use crate::{
    config::Synchronous,
    connection,
    error::{Failure, WriteFailure},
    handover::rows as handover,
    pets::idempotency::recent::RecentRecords,
    version::{self, VersionRenewal},
    version_cache::VersionCache,
};

/// How the connection is opened.
#[derive(Clone, Debug)]
pub(crate) struct WriterSettings {
    pub(crate) path: PathBuf,
    pub(crate) synchronous: Synchronous,
    pub(crate) busy_timeout: Duration,
}

impl WriterSettings {
    /// Opens a connection to a file that may not be a store yet.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        connection::open_writer(&self.path, self.synchronous, self.busy_timeout)
    }
}

/// Runs transactions.
#[derive(Debug)]
pub(crate) struct WriterConnection {
    settings: WriterSettings,
    connection: Connection,
    renewal: VersionRenewal,
    recent: RecentRecords,
    in_doubt: bool,
}

impl WriterConnection {
    /// Takes `connection`, which was opened with `settings`.
    pub(crate) fn new(
        settings: WriterSettings,
        mut connection: Connection,
    ) -> rusqlite::Result<Self> {
        let renewal = VersionRenewal::new(&mut connection)?;
        let recent = RecentRecords::default();
        Ok(Self { settings, connection, renewal, recent, in_doubt: false })
    }

    /// Runs `work` in a transaction, and publishes the version that it makes in `versions`.
    pub(super) fn transaction(
        &mut self,
        versions: &VersionCache,
        work: impl FnOnce(&Connection, &mut RecentRecords) -> rusqlite::Result<()>,
    ) -> Result<(), WriteFailure> {
        if self.in_doubt || !self.connection.is_autocommit() {
            let reopened = self.reopen();
            reopened.map_err(|error| WriteFailure::NotReopened(Arc::new(error)))?;
        }
        let done = self.run(versions, work);
        if done.is_err() {
            self.recent = RecentRecords::default();
        }
        self.in_doubt = matches!(&done, Err(Failure::Sqlite(error)) if is_in_doubt(error));
        done.map_err(|failure| match failure {
            Failure::Sqlite(error) => error.into(),
            Failure::Answer(StoreError::Sealed(reason)) => WriteFailure::Sealed(reason),
            Failure::Answer(error) => WriteFailure::Unreadable(Arc::new(error)),
        })
    }

    fn run(
        &mut self,
        versions: &VersionCache,
        work: impl FnOnce(&Connection, &mut RecentRecords) -> rusqlite::Result<()>,
    ) -> Result<(), Failure<StoreError>> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&self.connection, behavior)?;
        handover::permit(&transaction, Writer::Service)?;
        work(&transaction, &mut self.recent)?;
        let last = self.recent.index(&transaction)?;
        self.renewal.commit(&transaction, versions, 0)?;
        self.recent.committed(last);
        Ok(())
    }

    /// The old connection is closed when the new one has read: the last connection that is closed
    /// removes the write-ahead log.
    fn reopen(&mut self) -> rusqlite::Result<()> {
        let connection = self.settings.open()?;
        if connection.is_readonly(MAIN_DB)? {
            // SQLite opens a file so that cannot be opened for writing.
            let read_only = ffi::Error::new(ffi::SQLITE_READONLY);
            return Err(rusqlite::Error::SqliteFailure(read_only, None));
        }
        match version::current::<StoreError>(&connection) {
            Err(Failure::Sqlite(error)) => return Err(error),
            Ok(_) | Err(Failure::Answer(_)) => (),
        }
        *self = Self::new(self.settings.clone(), connection)?;
        Ok(())
    }
}

fn is_in_doubt(error: &rusqlite::Error) -> bool {
    let harmless = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked, ErrorCode::DiskFull];
    error.sqlite_error_code().is_none_or(|code| !harmless.contains(&code))
}
