//! A transaction on a connection of the pool.

use tokio_postgres::Row;

use crate::{
    connection::Values,
    error::StoreFailure,
    pool::{Pool, PooledConnection},
};

/// Nothing of it has happened until `commit` has returned; nothing ever does if it is dropped, for
/// then its connection is closed.
#[derive(Debug)]
pub(crate) struct Transaction {
    connection: PooledConnection,
}

impl Transaction {
    pub(crate) async fn begin(pool: &Pool) -> Result<Self, StoreFailure> {
        let mut connection = pool.get().await?;
        connection.set_broken(true);
        connection.batch("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        Ok(Self { connection })
    }

    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.connection.rows(sql, values).await
    }

    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        self.connection.execute(sql, values).await
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreFailure> {
        self.connection.commit().await?;
        self.connection.set_broken(false);
        Ok(())
    }

    /// Ends it without a trace, and keeps the connection.
    pub(crate) async fn roll_back(mut self) -> Result<(), StoreFailure> {
        self.connection.batch("ROLLBACK").await?;
        self.connection.set_broken(false);
        Ok(())
    }
}
