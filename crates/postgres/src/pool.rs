//! Connections for reads and for changes of keys, and the deadline of every call.
//!
//! The pool is our own and small, because of one thing that pools on the market do not do: when a
//! connection turns out to be broken, all that were made before it are given up at once. After a
//! failover one call, not one for each connection, runs into the dead server.

mod lease;

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use petstore_domain::StoreError;
use tokio::{sync::Semaphore, time};
use tokio_postgres::Row;

pub(crate) use self::lease::Lease;
use crate::{
    config::Parameters,
    connection::{Connection, Purpose, Values},
    connector::Connector,
    error::{Failure, StoreFailure},
};

/// How often a statement is tried that failed because of others.
pub(crate) const TRIES: u32 = 5;

/// A bounded number of connections.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    /// The last one put back is the first one taken: its caches are warm.
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    /// Grows when a connection was found broken. Those of an earlier generation are not used again.
    generation: AtomicU64,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        let permits = Arc::new(Semaphore::new(connector.parameters().pool_size));
        Self { connector, idle: Mutex::default(), permits, generation: AtomicU64::new(0) }
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        self.connector.parameters()
    }

    /// Runs a call within its deadline.
    pub(crate) async fn within<T, E: From<StoreError>>(
        &self,
        call: impl Future<Output = Result<T, Failure<E>>>,
    ) -> Result<T, E> {
        let patience = self.parameters().call_timeout;
        let result = time::timeout(patience, call).await;
        let result = result.unwrap_or_else(|_| {
            self.give_up_all();
            Err(StoreFailure::Deadline(patience).into())
        });
        result.map_err(Failure::into_error)
    }

    /// Runs one statement that reads. As reading twice does no harm, it is tried once more, on a
    /// new connection, when the connection was the trouble.
    pub(crate) async fn read(
        self: &Arc<Self>,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        let first = self.take().await?;
        match first.rows(sql, values).await {
            Err(failure) if failure.spoils_connection() => {
                drop(first);
                self.take().await?.rows(sql, values).await
            }
            result => result,
        }
    }

    /// Runs one statement that changes rows, and may be repeated; how many it has changed.
    pub(crate) async fn change(
        self: &Arc<Self>,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        for _ in 0..TRIES {
            let lease = self.take().await?;
            match lease.execute(sql, values).await {
                Err(failure) if failure.is_conflict() => {}
                result => return result,
            }
        }
        Err(StoreFailure::Contention)
    }

    /// A connection, a new one if none is idle.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Lease, StoreFailure> {
        let patience = self.parameters().pool_timeout;
        let permit = time::timeout(patience, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| StoreFailure::Busy(patience))?;
        let permit = permit.map_err(|_| StoreFailure::Stopped)?;
        let generation = self.generation.load(Ordering::Acquire);
        let connection = match self.pop() {
            Some(connection) => connection,
            None => self.connector.connect(Purpose::Calls).await?,
        };
        let pool = Arc::clone(self);
        Ok(Lease { pool, connection: Some(connection), generation, spoilt: false, _permit: permit })
    }

    fn pop(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some(connection) = idle.pop() {
            if !connection.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Gives up every connection that was made until now; those in use, when they come back.
    pub(crate) fn give_up_all(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let given_up = mem::take(&mut *self.idle());
        drop(given_up);
    }

    fn put_back(&self, connection: Connection, generation: u64) {
        // Under the lock, so that giving up all does not miss it.
        let mut idle = self.idle();
        if generation == self.generation.load(Ordering::Acquire) && !connection.is_closed() {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
