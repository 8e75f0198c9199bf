//! The connection pool for single statements, and the deadline of a call. A call takes the connection that was
//! returned last, whose caches are warm. After a connection breaks, no connection of the pool is used again: at a dead
//! server one call fails, not one for each connection. If the server allows fewer connections than `pool_size`, a call
//! whose new connection is refused sets its permit aside for [`FULL_PAUSE`], and waits for another permit. petstore has
//! its own pool because no pool crate closes a connection to make room for a connection outside of the pool.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::StoreError;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{self, Instant},
};
use tokio_postgres::{Row, error::SqlState};

use crate::{
    connection::Connection,
    connector::{Connector, Purpose},
    error::StoreFailure,
    values::Values,
};

/// The largest number of tries of a statement that fails because of a concurrent statement.
pub(crate) const MAX_TRIES: u32 = 5;

/// The largest number of calls that wait for a connection. Further calls fail at once.
const MAX_WAITING: usize = 4096;

/// The time for which a permit is set aside after the server refused a new connection, so that no call asks again at
/// once.
const FULL_PAUSE: Duration = Duration::from_millis(500);
/// Each time that a new connection outside of the pool has waited this long, the pool closes one of its connections. A
/// pooler such as `PgBouncer` lets a new connection wait while it has no free session.
const QUEUE_PAUSE: Duration = Duration::from_millis(500);
/// The pause before the next try to connect after a connection of the pool was closed.
const CLOSE_PAUSE: Duration = Duration::from_millis(20);

/// The load of the connection pool. Other connections, such as the writer's, do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The number of connections that are open or being opened.
    pub connections: usize,
    /// The number of open connections that no call uses.
    pub idle: usize,
    /// The number of calls that wait for a connection.
    pub waiting: usize,
}

/// A bounded number of connections.
pub(crate) struct Pool {
    pub(crate) connector: Connector,
    state: Mutex<State>,
    /// One permit for each call that may use or open a connection.
    permits: Arc<Semaphore>,
    /// One permit for each call that may wait for a connection.
    waiting: Semaphore,
}

#[derive(Default)]
struct State {
    idle: Vec<Arc<Connection>>,
    /// The number of connections that calls use or open.
    in_use: usize,
    /// Grows with each [`Pool::drop_all`]. Connections of an earlier generation are not used again.
    generation: u64,
    /// `true` if the next returned connection is closed to make room for a connection outside of the pool.
    is_one_wanted: bool,
}

/// A connection that is in use or being opened. Dropping this value returns a usable connection to the pool, and then
/// releases the permit.
struct PooledConnection<'a> {
    /// `None` if it is not open yet, or must not be used again.
    connection: Option<Arc<Connection>>,
    generation: u64,
    state: &'a Mutex<State>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut state = lock(self.state);
        state.in_use -= 1;
        if let Some(connection) = self.connection.take()
            && self.generation == state.generation
            && !connection.is_closed()
        {
            state.idle.push(connection);
            state.close_if_wanted();
        }
    }
}

impl State {
    /// Closes the least recently used idle connection, if room for a connection outside of the pool is wanted.
    fn close_if_wanted(&mut self) {
        if self.is_one_wanted && !self.idle.is_empty() {
            self.is_one_wanted = false;
            self.idle.remove(0);
        }
    }
}

impl Pool {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            state: Mutex::default(),
            permits: Arc::new(Semaphore::new(connector.config.pool_size)),
            waiting: Semaphore::new(MAX_WAITING),
            connector,
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        let state = lock(&self.state);
        let (idle, in_use) = (state.idle.len(), state.in_use);
        let waiting = MAX_WAITING - self.waiting.available_permits();
        Activity { connections: idle + in_use, idle, waiting }
    }

    /// Runs a call with the deadline `call_timeout`.
    pub(crate) async fn within_deadline<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timeout = self.connector.config.call_timeout;
        let result = time::timeout(timeout, call).await;
        result.unwrap_or_else(|_| {
            self.drop_all();
            Err(StoreFailure::Deadline(timeout).into())
        })
    }

    /// Runs one statement that may safely run twice. If the connection broke, the statement is tried once more, on a
    /// new connection. If a concurrent statement made the statement fail, it is tried up to [`MAX_TRIES`] times in all.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (_pooled, connection) = self.get().await?;
            let result = connection.query_alone(sql, values).await;
            let Err(failure) = result else { return result };
            // This comes before the connection is returned, so that no other call gets the connection.
            if failure.breaks_connection() {
                self.drop_all();
            }
            let max = if failure.is_conflict() { MAX_TRIES } else { 2 };
            if tries >= max || !(failure.is_conflict() || failure.breaks_connection()) {
                return Err(failure);
            }
        }
    }

    /// Begins a transaction of several statements on a connection outside of the pool. Dropping the connection rolls
    /// the transaction back.
    pub(crate) async fn begin(
        &self,
        purpose: Purpose,
        begin: &str,
    ) -> Result<Connection, StoreFailure> {
        let connection = self.connect(purpose).await?;
        connection.begin(begin).await?;
        Ok(connection)
    }

    /// Returns a connection outside of the pool. If the server allows no more connections, or lets the new connection
    /// wait, closes a connection of the pool.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let mut connecting = self.connector.connect(purpose);
        let connected = loop {
            if let Ok(connected) = time::timeout(QUEUE_PAUSE, &mut connecting).await {
                break connected;
            }
            let mut state = lock(&self.state);
            state.is_one_wanted = true;
            state.close_if_wanted();
        };
        if !connected.as_ref().is_err_and(is_full) {
            return connected;
        }
        // Holds the permit of a pooled connection meanwhile, so that no other call opens a connection in its place.
        let (mut pooled, _) = self.get().await?;
        pooled.connection = None;
        let deadline = Instant::now() + self.connector.config.pool_timeout;
        loop {
            match self.connector.connect(purpose).await {
                Err(failure) if is_full(&failure) && Instant::now() < deadline => {
                    time::sleep(CLOSE_PAUSE).await;
                }
                connected => return connected,
            }
        }
    }

    /// Drops all connections. A connection that is in use is not used again.
    pub(crate) fn drop_all(&self) {
        let mut state = lock(&self.state);
        state.generation += 1;
        state.idle.clear();
    }

    /// Returns an idle connection, or a new connection.
    async fn get(&self) -> Result<(PooledConnection<'_>, Arc<Connection>), StoreFailure> {
        let full = |_| StoreFailure::PoolQueueFull(MAX_WAITING);
        let _waiting = self.waiting.try_acquire().map_err(full)?;
        let timeout = self.connector.config.pool_timeout;
        let (deadline, mut failure) = (Instant::now() + timeout, StoreFailure::Busy(timeout));
        loop {
            let permit = Arc::clone(&self.permits).acquire_owned();
            let Ok(Ok(permit)) = time::timeout_at(deadline, permit).await else {
                return Err(failure);
            };
            // Takes the generation before connecting: a connection that breaks meanwhile may be to the same server.
            let mut pooled = self.take(permit);
            let connected = match pooled.connection.clone().filter(|idle| !idle.is_closed()) {
                Some(connection) => Ok(connection),
                None => self.connector.connect(Purpose::Calls).await.map(Arc::new),
            };
            match connected {
                Ok(connection) => {
                    pooled.connection = Some(Arc::clone(&connection));
                    return Ok((pooled, connection));
                }
                Err(refused) if is_full(&refused) => {
                    let permit = pooled.permit.take();
                    tokio::spawn(async move {
                        time::sleep(FULL_PAUSE).await;
                        drop(permit);
                    });
                    failure = refused;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Removes and returns the connection that was returned to the pool last, if the pool has an idle connection.
    fn take(&self, permit: OwnedSemaphorePermit) -> PooledConnection<'_> {
        let mut state = lock(&self.state);
        state.in_use += 1;
        let (connection, generation) = (state.idle.pop(), state.generation);
        PooledConnection { connection, generation, state: &self.state, permit: Some(permit) }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a server answered that it allows no more connections.
fn is_full(failure: &StoreFailure) -> bool {
    failure.has_state(&SqlState::TOO_MANY_CONNECTIONS)
}
