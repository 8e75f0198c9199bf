//! A connection on loan.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio_postgres::Row;

use super::Pool;
use crate::{
    connection::{Connection, Values},
    error::StoreFailure,
};

/// A connection on loan. Dropping it puts it back, unless it was spoilt.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(super) pool: Arc<Pool>,
    pub(super) connection: Option<Connection>,
    pub(super) generation: u64,
    pub(super) spoilt: bool,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// See [`Connection::rows`].
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.judged(self.connection()?.rows(sql, values).await)
    }

    /// See [`Connection::execute`].
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        self.judged(self.connection()?.execute(sql, values).await)
    }

    /// The connection itself; there is one until the lease ends.
    pub(crate) fn connection(&self) -> Result<&Connection, StoreFailure> {
        self.connection.as_ref().ok_or(StoreFailure::Stopped)
    }

    /// Says whether the connection is in a state in which nobody else may have it.
    pub(crate) fn set_spoilt(&mut self, spoilt: bool) {
        self.spoilt = spoilt;
    }

    fn judged<T>(&self, result: Result<T, tokio_postgres::Error>) -> Result<T, StoreFailure> {
        result.map_err(|error| {
            let failure = StoreFailure::from(error);
            if failure.spoils_connection() {
                self.pool.give_up_all();
            }
            failure
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| !self.spoilt) {
            self.pool.put_back(connection, self.generation);
        }
    }
}
