//! Connections for single statements, and the deadline of every call.
//!
//! The pool is deadpool's. What is added here:
//! - When a connection turns out to be broken, the idle ones are dropped and those in use are not used again.
//!   After a failover one call, not one for each connection, meets the dead server.
//! - A server may allow fewer connections than the pool wants. Each call takes a permit, in turn; one that is
//!   refused a new connection puts its permit aside for [`FULL_PAUSE`] and queues again for a connection that is
//!   there. So there are soon as many permits as connections, and the server is seldom asked for one more.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deadpool::{
    Status,
    managed::{
        self, BuildError, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult,
    },
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{self, Instant},
};
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

/// How long the server is not asked again for one more connection after it has refused it.
const FULL_PAUSE: Duration = Duration::from_millis(500);
/// How long the server may take to end a session that was closed for another one.
const CLOSE_PAUSE: Duration = Duration::from_millis(20);

/// A bounded number of connections.
#[derive(Debug)]
pub(crate) struct Pool {
    connections: managed::Pool<Manager>,
    /// One for each call that may use or make a connection.
    permits: Arc<Semaphore>,
    /// One for each call that may wait for a permit, or for a connection to be made.
    waiting: Semaphore,
}

/// A connection, given back before its permit.
struct Lease<'a> {
    object: Object<Manager>,
    _permit: SemaphorePermit<'a>,
}

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
        let pool_size = connector.parameters().pool_size;
        let connections =
            managed::Pool::builder(Manager { connector, generation: AtomicU64::new(0) })
                .max_size(pool_size)
                // The last one put back is the first one taken: its caches are warm.
                .queue_mode(QueueMode::Lifo)
                .build()?;
        let (permits, waiting) = (Semaphore::new(pool_size), Semaphore::new(MAX_WAITING));
        Ok(Self { connections, permits: Arc::new(permits), waiting })
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
            async || self.checked(self.get().await?.connection().rows_alone(sql, values).await);
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
            match self.checked(self.get().await?.connection().execute_alone(sql, values).await) {
                Err(failure) if failure.is_conflict() => {}
                result => return result,
            }
        }
        Err(StoreFailure::Contention)
    }

    /// A connection, a new one if none is idle.
    async fn get(&self) -> Result<Lease<'_>, StoreFailure> {
        let full = |_| StoreFailure::PoolQueueFull(MAX_WAITING);
        let _waiting = self.waiting.try_acquire().map_err(full)?;
        let timeout = self.parameters().pool_timeout;
        let (deadline, mut failure) = (Instant::now() + timeout, StoreFailure::Busy(timeout));
        loop {
            let Ok(Ok(permit)) = time::timeout_at(deadline, self.permits.acquire()).await else {
                return Err(failure);
            };
            match self.connections.get().await {
                Ok(object) => return Ok(Lease { object, _permit: permit }),
                Err(PoolError::Backend(error)) if error.is_full() => {
                    failure = StoreFailure::Connect(error);
                    self.put_aside(permit);
                }
                Err(PoolError::Backend(error)) => return Err(StoreFailure::Connect(error)),
                // There is a permit for each connection, so none is waited for here.
                Err(
                    PoolError::Timeout(_)
                    | PoolError::Closed
                    | PoolError::NoRuntimeSpecified
                    | PoolError::PostCreateHook(_),
                ) => return Err(StoreFailure::Stopped),
            }
        }
    }

    fn put_aside(&self, permit: SemaphorePermit<'_>) {
        permit.forget();
        let permits = Arc::clone(&self.permits);
        tokio::spawn(async move {
            time::sleep(FULL_PAUSE).await;
            permits.add_permits(1);
        });
    }

    /// A connection outside of the pool. Where the server allows no more, one of the pool is closed for it.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let connector = self.connector();
        match connector.connect(purpose).await {
            Err(error) if error.is_full() => {}
            connected => return Ok(connected?),
        }
        let Lease { object, _permit } = self.get().await?;
        drop(Object::take(object));
        let deadline = Instant::now() + self.parameters().pool_timeout;
        loop {
            match connector.connect(purpose).await {
                Err(error) if error.is_full() && Instant::now() < deadline => {
                    time::sleep(CLOSE_PAUSE).await;
                }
                connected => return Ok(connected?),
            }
        }
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
        self.connections.manager().generation.fetch_add(1, Ordering::AcqRel);
        drop(self.connections.retain(|_, _| false));
    }

    /// How many connections there are, idle ones among them, and calls that wait.
    pub(crate) fn status(&self) -> Status {
        let waiting = MAX_WAITING - self.waiting.available_permits();
        Status { waiting, ..self.connections.status() }
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        self.connector().parameters()
    }

    fn connector(&self) -> &Connector {
        &self.connections.manager().connector
    }
}

impl Lease<'_> {
    fn connection(&self) -> &Connection {
        &self.object.connection
    }
}
