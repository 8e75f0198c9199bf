//! Connections for reads and for changes of keys, and the deadline of every call.
//!
//! The pool is deadpool's: it bounds the number of connections and the wait for one, and serves who
//! waits in turn. What is added here: when a connection turns out to be broken, the idle ones are
//! dropped and those in use are not used again. After a failover one call, not one for each
//! connection, meets the dead server.

mod manager;

use std::sync::Arc;

use deadpool::{
    Runtime,
    managed::{self, BuildError, Object, PoolError, QueueMode, Timeouts},
};
use tokio::time;
use tokio_postgres::Row;

use self::manager::Manager;
use crate::{config::Parameters, connection::Values, connector::Connector, error::StoreFailure};

/// How often a statement is tried that failed because of a concurrent one.
pub(crate) const MAX_TRIES: u32 = 5;

/// A bounded number of connections.
#[derive(Clone, Debug)]
pub(crate) struct Pool(managed::Pool<Manager>);

impl Pool {
    /// The error is that of a pool whose wait is bounded by no runtime; there is one.
    pub(crate) fn new(connector: Arc<Connector>) -> Result<Self, BuildError> {
        let Parameters { pool_size, pool_timeout, .. } = *connector.parameters();
        managed::Pool::builder(Manager::new(connector))
            .max_size(pool_size)
            .timeouts(Timeouts { wait: Some(pool_timeout), create: None, recycle: None })
            // The last one put back is the first one taken: its caches are warm.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .map(Self)
    }

    fn parameters(&self) -> &Parameters {
        self.0.manager().parameters()
    }

    /// Runs a call within its deadline.
    pub(crate) async fn within_deadline<T, E: From<StoreFailure>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let timeout = self.parameters().call_timeout;
        let result = time::timeout(timeout, call).await;
        result.unwrap_or_else(|_| {
            self.drop_all();
            Err(StoreFailure::Deadline(timeout).into())
        })
    }

    /// Runs one statement that reads. As reading twice does no harm, it is tried once more, on a
    /// new connection, when the connection was broken.
    pub(crate) async fn read(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        let first = self.get().await?;
        match first.rows(sql, values).await {
            Err(failure) if failure.breaks_connection() => {
                drop(first);
                self.get().await?.rows(sql, values).await
            }
            result => result,
        }
    }

    /// Runs one statement that changes rows, and may be repeated; how many it has changed.
    pub(crate) async fn change(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        for _ in 0..MAX_TRIES {
            match self.get().await?.execute(sql, values).await {
                Err(failure) if failure.is_conflict() => {}
                result => return result,
            }
        }
        Err(StoreFailure::Contention)
    }

    /// A connection, a new one if none is idle.
    pub(crate) async fn get(&self) -> Result<PooledConnection, StoreFailure> {
        let object = self.0.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => StoreFailure::Busy(self.parameters().pool_timeout),
            PoolError::Backend(error) => StoreFailure::Connect(error),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                StoreFailure::Stopped
            }
        })?;
        Ok(PooledConnection { pool: self.clone(), object, broken: false })
    }

    /// Uses no connection again that was made until now.
    fn drop_all(&self) {
        self.0.manager().begin_generation();
        drop(self.0.retain(|_, _| false));
    }
}

/// A connection of the pool. Dropping it puts it back, unless it is broken.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    pool: Pool,
    object: Object<Manager>,
    broken: bool,
}

impl PooledConnection {
    /// See [`Connection::rows`](crate::connection::Connection::rows).
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.checked(self.object.connection.rows(sql, values).await)
    }

    /// See [`Connection::execute`](crate::connection::Connection::execute).
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        self.checked(self.object.connection.execute(sql, values).await)
    }

    /// See [`Connection::batch`](crate::connection::Connection::batch).
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreFailure> {
        self.checked(self.object.connection.batch(sql).await)
    }

    /// See [`Connection::commit`](crate::connection::Connection::commit).
    pub(crate) async fn commit(&self) -> Result<(), StoreFailure> {
        self.checked(self.object.connection.commit().await)
    }

    /// Whether the connection is in a state in which it must not be used again.
    pub(crate) fn set_broken(&mut self, broken: bool) {
        self.broken = broken;
    }

    fn checked<T, E: Into<StoreFailure>>(&self, result: Result<T, E>) -> Result<T, StoreFailure> {
        result.map_err(Into::into).inspect_err(|failure| {
            if failure.breaks_connection() {
                self.pool.drop_all();
            }
        })
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if self.broken || !self.pool.0.manager().may_be_used_again(&self.object) {
            self.object.connection.close();
        }
    }
}
