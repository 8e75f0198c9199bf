//! A write transaction.

use std::time::Instant;

use petstore_domain::{StoreError, WriterRole};
use petstore_storage::VersionCache;

use crate::{connection::Statements, error::Failure, handover::rows as handover, version};

/// A write transaction. Dropping it without a commit rolls it back.
pub(crate) struct WriteTransaction<'a, 'c>(&'a mut Statements<'c>);

impl<'a, 'c> WriteTransaction<'a, 'c> {
    /// Waits for the write lock, and checks that the state of the store permits `writer` to write.
    pub(crate) fn begin<E: From<StoreError>>(
        statements: &'a mut Statements<'c>,
        writer: WriterRole,
    ) -> Result<Self, Failure<E>> {
        statements.get("BEGIN IMMEDIATE")?.execute([])?;
        let transaction = Self(statements);
        handover::permit_write(transaction.0, writer)?;
        Ok(transaction)
    }

    /// Returns the statements of the connection.
    pub(crate) fn statements(&mut self) -> &mut Statements<'c> {
        self.0
    }

    /// Commits. If animals have changed, `rewrites` is 0 for additions alone and 1 otherwise, and the version is renewed and
    /// published. Without a change of animals, `rewrites` is `None`.
    pub(crate) fn commit<E: From<StoreError>>(
        self,
        rewrites: Option<i64>,
        versions: &VersionCache,
    ) -> Result<(), Failure<E>> {
        let renewed = rewrites.map(|rewrites| version::renew(self.0, rewrites)).transpose()?;
        let began = Instant::now();
        self.0.get("COMMIT")?.execute([]).map_err(Failure::Commit)?;
        if let Some(stored) = renewed {
            versions.observe(stored, began);
        }
        Ok(())
    }
}

impl Drop for WriteTransaction<'_, '_> {
    fn drop(&mut self) {
        let connection = self.0.connection;
        if !connection.is_autocommit() {
            // If the rollback fails, the writer opens a new connection.
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}
