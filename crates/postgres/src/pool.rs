//! Connections for single statements, and the deadline of every call.
//!
//! The pool is deadpool's: it bounds the number of connections and the wait for one, and serves who
//! waits in turn. What is added here: when a connection turns out to be broken, the idle ones are
//! dropped and those in use are not used again. After a failover one call, not one for each
//! connection, meets the dead server.

#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use deadpool::{
    Runtime, Status,
    managed::{
        self, BuildError, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult,
        Timeouts,
    },
};
use tokio::time;
use tokio_postgres::Row;

use crate::{
    config::Parameters,
    connection::Connection,
    connector::{Connector, Purpose},
    error::{ConnectError, StoreFailure},
    values::Values,
};

/// How often a statement is tried that failed because of a concurrent one.
pub(crate) const MAX_TRIES: u32 = 5;

/// Calls that may wait for a connection, or for one to be made; one more is refused at once.
const MAX_WAITING: usize = 4096;

/// A bounded number of connections.
#[derive(Debug)]
pub(crate) struct Pool(managed::Pool<Manager>);

#[derive(Debug)]
struct Manager {
    connector: Arc<Connector>,
    /// Grows when a connection was found broken. Those of an earlier generation are not used again.
    generation: AtomicU64,
}

#[derive(Debug)]
struct PooledConnection {
    connection: Connection,
    generation: u64,
}

impl managed::Manager for Manager {
    type Type = PooledConnection;
    type Error = Arc<ConnectError>;

    async fn create(&self) -> Result<PooledConnection, Arc<ConnectError>> {
        // Before connecting: what is found broken meanwhile may have been the same server.
        let generation = self.generation.load(Ordering::Acquire);
        let connection = self.connector.connect(Purpose::Calls).await?;
        Ok(PooledConnection { connection, generation })
    }

    async fn recycle(
        &self,
        pooled: &mut PooledConnection,
        _: &Metrics,
    ) -> RecycleResult<Arc<ConnectError>> {
        let is_current = pooled.generation == self.generation.load(Ordering::Acquire);
        if is_current && !pooled.connection.is_closed() {
            Ok(())
        } else {
            Err(RecycleError::message("the connection is broken"))
        }
    }
}

impl Pool {
    /// The error is that of a pool without a runtime to measure time; this one has tokio's.
    pub(crate) fn new(connector: Arc<Connector>) -> Result<Self, BuildError> {
        let Parameters { pool_size, pool_timeout, .. } = *connector.parameters();
        managed::Pool::builder(Manager { connector, generation: AtomicU64::new(0) })
            .max_size(pool_size)
            .timeouts(Timeouts { wait: Some(pool_timeout), create: None, recycle: None })
            // The last one put back is the first one taken: its caches are warm.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .map(Self)
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
        let read =
            async || self.checked(self.get().await?.connection.rows_alone(sql, values).await);
        match read().await {
            Err(failure) if failure.breaks_connection() => read().await,
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
            match self.checked(self.get().await?.connection.execute_alone(sql, values).await) {
                Err(failure) if failure.is_conflict() => {}
                result => return result,
            }
        }
        Err(StoreFailure::Contention)
    }

    /// A connection, a new one if none is idle.
    async fn get(&self) -> Result<Object<Manager>, StoreFailure> {
        if self.0.status().waiting >= MAX_WAITING {
            return Err(StoreFailure::PoolQueueFull(MAX_WAITING));
        }
        self.0.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => StoreFailure::Busy(self.parameters().pool_timeout),
            PoolError::Backend(error) => StoreFailure::Connect(error),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                StoreFailure::Stopped
            }
        })
    }

    fn checked<T>(&self, result: Result<T, tokio_postgres::Error>) -> Result<T, StoreFailure> {
        result.map_err(StoreFailure::from).inspect_err(|failure| {
            if failure.breaks_connection() {
                self.drop_all();
            }
        })
    }

    /// Uses no connection again that was made until now.
    pub(crate) fn drop_all(&self) {
        self.0.manager().generation.fetch_add(1, Ordering::AcqRel);
        drop(self.0.retain(|_, _| false));
    }

    /// How many connections there are, idle ones among them, and calls that wait.
    pub(crate) fn status(&self) -> Status {
        self.0.status()
    }

    fn parameters(&self) -> &Parameters {
        self.0.manager().connector.parameters()
    }
}
