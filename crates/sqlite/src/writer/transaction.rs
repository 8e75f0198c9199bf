//! A write transaction.

use std::time::Instant;

use petstore_domain::{StoreError, WriterRole};
use petstore_storage::VersionCache;
use rusqlite::Connection;

use crate::{error::Failure, handover::rows as handover, version};

/// A write transaction of a role that may write. Dropping it rolls it back.
pub(crate) struct WriteTransaction<'a>(&'a mut Connection);

impl<'a> WriteTransaction<'a> {
    /// Waits for the write lock, and asks the state of the store whether `writer` may write.
    pub(crate) fn begin<E: From<StoreError>>(
        connection: &'a mut Connection,
        writer: WriterRole,
    ) -> Result<Self, Failure<E>> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let transaction = Self(connection);
        handover::state(transaction.0)?.permit_write(writer)?;
        Ok(transaction)
    }

    /// Returns the connection, to run statements.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.0
    }

    /// Commits. If animals have changed, renews the version, and publishes it: `rewrites` is then 1 if they were
    /// changed otherwise than by additions, else 0.
    pub(crate) fn commit<E: From<StoreError>>(
        self,
        rewrites: Option<i64>,
        versions: &VersionCache,
    ) -> Result<(), Failure<E>> {
        let renewed = rewrites.map(|rewrites| version::renew(self.0, rewrites)).transpose()?;
        let began = Instant::now();
        self.0.prepare_cached("COMMIT")?.execute([]).map_err(Failure::Commit)?;
        if let Some(stored) = renewed {
            versions.observe(stored, began);
        }
        Ok(())
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // The writer opens another connection if this one keeps its transaction.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}
