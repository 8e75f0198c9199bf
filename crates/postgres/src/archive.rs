//! [`Archive`] on PostgreSQL: the whole store, on a connection of its own.

mod restore;
mod snapshot;

use async_trait::async_trait;
use petstore_domain::{Archive, Restore, Snapshot, StoreError};

use self::{restore::Restoring, snapshot::View};
use crate::{
    PostgresStore,
    connection::{Connection, Purpose},
    error::StoreFailure,
};

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View::open(self.begin(READING).await?).await?))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        let connection = self.begin(WRITING).await?;
        Ok(Box::new(Restoring::new(connection, self.board.clone())))
    }
}

const READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const WRITING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

impl PostgresStore {
    async fn begin(&self, sql: &str) -> Result<Connection, StoreFailure> {
        let connection = self.connector.connect(Purpose::Archive).await?;
        connection.batch(sql).await?;
        Ok(connection)
    }
}
