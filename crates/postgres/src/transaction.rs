//! A transaction on a connection of the pool.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::{
    connection::Values,
    error::StoreFailure,
    pool::{Lease, Pool},
};

/// Nothing of it has happened until `commit` has returned; nothing ever does if it is dropped, for
/// then its connection is closed.
#[derive(Debug)]
pub(crate) struct Transaction {
    lease: Lease,
}

impl Transaction {
    pub(crate) async fn begin(pool: &Arc<Pool>) -> Result<Self, StoreFailure> {
        let mut lease = pool.take().await?;
        lease.set_spoilt(true);
        let begun = lease.connection()?.batch("BEGIN ISOLATION LEVEL READ COMMITTED").await;
        if begun.is_err() {
            pool.give_up_all();
        }
        begun?;
        Ok(Self { lease })
    }

    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.lease.rows(sql, values).await
    }

    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        self.lease.execute(sql, values).await
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreFailure> {
        self.lease.connection()?.commit().await?;
        self.lease.set_spoilt(false);
        Ok(())
    }

    /// Ends it without a trace, and keeps the connection.
    pub(crate) async fn roll_back(mut self) -> Result<(), StoreFailure> {
        self.lease.connection()?.batch("ROLLBACK").await?;
        self.lease.set_spoilt(false);
        Ok(())
    }
}
