//! Connections for single statements, and the deadline of every call.
//!
//! - A call takes a permit, in turn, and then the connection that was given back last, whose caches are warm, or
//!   a new one.
//! - When a connection turns out to be broken, the idle ones are dropped and those in use are not used again.
//!   After a failover one call, not one for each connection, meets the dead server.
//! - A server may allow fewer connections than the pool wants. A call that is refused a new connection puts its
//!   permit aside for [`FULL_PAUSE`] and queues again for a connection that is there. So there are soon as many
//!   permits as connections, and the server is seldom asked for one more.

#[cfg(test)]
mod tests;

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{self, Instant},
};
use tokio_postgres::{Row, error::SqlState};

use crate::{
    config::Parameters,
    connection::Connection,
    connector::{Connector, Purpose},
    error::StoreFailure,
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

/// How busy the pool of connections is at this moment. The connections of the writer, of the watch and of
/// changes of keys are not in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Connections that are open, or being made.
    pub connections: usize,
    /// Of them, those that no call uses.
    pub idle: usize,
    /// Calls that wait for one.
    pub waiting: usize,
}

/// A bounded number of connections.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    idle: Mutex<Idle>,
    /// One for each call that may use or make a connection.
    permits: Arc<Semaphore>,
    /// One for each call that may wait for a permit, or for a connection to be made.
    waiting: Semaphore,
    /// Cloned by whoever uses or makes a connection.
    in_use: Arc<()>,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Arc<Connection>>,
    /// Grows when a connection was found broken. Those of an earlier generation are not used again.
    generation: u64,
}

/// A connection in use, given back before its permit.
struct Lease<'a> {
    pooled: PooledConnection<'a>,
    _permit: SemaphorePermit<'a>,
}

/// Dropping it gives the connection back, unless it is broken.
struct PooledConnection<'a> {
    connection: Arc<Connection>,
    /// `None` if it shall not be used again.
    generation: Option<u64>,
    idle: &'a Mutex<Idle>,
    _in_use: Arc<()>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut idle = lock(self.idle);
        if self.generation == Some(idle.generation) && !self.connection.is_closed() {
            idle.connections.push(Arc::clone(&self.connection));
        }
    }
}

impl Pool {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(connector.parameters().pool_size)),
            waiting: Semaphore::new(MAX_WAITING),
            connector,
            idle: Mutex::default(),
            in_use: Arc::default(),
        }
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        self.connector.parameters()
    }

    pub(crate) fn activity(&self) -> Activity {
        let (idle, in_use) = (lock(&self.idle).connections.len(), Arc::strong_count(&self.in_use));
        let waiting = MAX_WAITING - self.waiting.available_permits();
        Activity { connections: idle + in_use - 1, idle, waiting }
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

    /// Runs one statement that does no harm when it is run twice. It is tried once more, on a new connection,
    /// when the connection was broken, and some times when it met a concurrent one.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let lease = self.get().await?;
            let result = lease.pooled.connection.query_alone(sql, values).await;
            let Err(failure) = result else { return result };
            // Before the lease is given back, so that no other call takes it.
            if failure.breaks_connection() {
                self.drop_all();
            }
            let max = if failure.is_conflict() { MAX_TRIES } else { 2 };
            if tries >= max || !(failure.is_conflict() || failure.breaks_connection()) {
                return Err(failure);
            }
        }
    }

    /// Begins a transaction of several statements, on a connection of its own: these are rare. Nothing of it has
    /// happened until its commit has returned; nothing ever does if it is dropped.
    pub(crate) async fn begin(
        &self,
        purpose: Purpose,
        begin: &str,
    ) -> Result<Connection, StoreFailure> {
        let connection = self.connect(purpose).await?;
        connection.begin(begin).await?;
        Ok(connection)
    }

    /// Returns a connection outside of the pool. Where the server allows no more, one of the pool is closed for it.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let connected = self.connector.connect(purpose).await;
        if !is_full(&connected) {
            return connected;
        }
        // The permit is held meanwhile: whoever had it would ask the server for the same connection.
        let Lease { mut pooled, _permit } = self.get().await?;
        pooled.generation = None;
        drop(pooled);
        let deadline = Instant::now() + self.parameters().pool_timeout;
        loop {
            let connected = self.connector.connect(purpose).await;
            if !is_full(&connected) || Instant::now() >= deadline {
                return connected;
            }
            time::sleep(CLOSE_PAUSE).await;
        }
    }

    /// Uses no connection again that was made until now.
    pub(crate) fn drop_all(&self) {
        let mut idle = lock(&self.idle);
        idle.generation += 1;
        let broken = mem::take(&mut idle.connections);
        drop(idle);
        drop(broken);
    }

    /// Returns a connection, a new one if none is idle.
    async fn get(&self) -> Result<Lease<'_>, StoreFailure> {
        let full = |_| StoreFailure::PoolQueueFull(MAX_WAITING);
        let _waiting = self.waiting.try_acquire().map_err(full)?;
        let timeout = self.parameters().pool_timeout;
        let (deadline, mut failure) = (Instant::now() + timeout, StoreFailure::Busy(timeout));
        loop {
            let Ok(Ok(permit)) = time::timeout_at(deadline, self.permits.acquire()).await else {
                return Err(failure);
            };
            let in_use = Arc::clone(&self.in_use);
            let (idle, generation) = self.take_idle();
            // What is found broken while it is made may have been the same server.
            let connected = match idle {
                Some(connection) => Ok(connection),
                None => self.connector.connect(Purpose::Calls).await.map(Arc::new),
            };
            match connected {
                Ok(connection) => {
                    let generation = Some(generation);
                    let pooled = PooledConnection {
                        connection,
                        generation,
                        idle: &self.idle,
                        _in_use: in_use,
                    };
                    return Ok(Lease { pooled, _permit: permit });
                }
                refused if is_full(&refused) => {
                    failure = refused.err().unwrap_or(failure);
                    self.put_aside(permit);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn take_idle(&self) -> (Option<Arc<Connection>>, u64) {
        let mut idle = lock(&self.idle);
        let connection = idle.connections.pop().filter(|connection| !connection.is_closed());
        (connection, idle.generation)
    }

    fn put_aside(&self, permit: SemaphorePermit<'_>) {
        permit.forget();
        let permits = Arc::clone(&self.permits);
        tokio::spawn(async move {
            time::sleep(FULL_PAUSE).await;
            permits.add_permits(1);
        });
    }
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a server was reached that allows no more connections.
fn is_full<T>(connected: &Result<T, StoreFailure>) -> bool {
    let full = &SqlState::TOO_MANY_CONNECTIONS;
    connected.as_ref().is_err_and(|failure| failure.has_state(full))
}
