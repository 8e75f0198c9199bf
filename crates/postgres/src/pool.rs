//! Connections for single statements, and the deadline of every call.
//!
//! - A call takes a permit, in turn, and then the connection that was given back last, whose caches are warm, or
//!   a new one.
//! - When a connection turns out to be broken, the idle ones are dropped and those in use are not used again.
//!   After a failover one call, not one for each connection, meets the dead server.
//! - What needs a connection outside of the pool goes first: a pooler may let it wait for a session that a connection of
//!   the pool has.
//! - A server may allow fewer connections than the pool wants. A call that is refused a new connection puts its
//!   permit aside for [`FULL_PAUSE`] and queues again for a connection that is there. So there are soon as many
//!   permits as connections, and the server is seldom asked for one more.

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
    config::PostgresConfig,
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
/// How long the server may take to connect before a connection of the pool is closed, and then another one: a pooler
/// queues what it has no session for.
const QUEUE_PAUSE: Duration = Duration::from_millis(500);
/// How long the server may take to end a session that was closed for another one.
const CLOSE_PAUSE: Duration = Duration::from_millis(20);

/// How busy the pool of connections is at this moment. The connections of the writer and of changes of
/// keys are not in the pool.
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
    state: Mutex<State>,
    /// One for each call that may use or make a connection.
    permits: Arc<Semaphore>,
    /// One for each call that may wait for a permit, or for a connection to be made.
    waiting: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Arc<Connection>>,
    /// A connection for the next transaction of an archive: to make one takes longer than most of them.
    archive: Option<Connection>,
    /// Connections that calls use or make.
    in_use: usize,
    /// Grows when a connection was found broken. Those of an earlier generation are not used again.
    generation: u64,
    /// `true` if the next connection that is given back is closed, so that one for another purpose can be made.
    is_one_wanted: bool,
}

/// A connection in use, or being made. Dropping it gives the connection back, unless it is broken, and then the
/// permit.
struct Lease<'a> {
    /// `None` if it is not there yet, or shall not be used again.
    connection: Option<Arc<Connection>>,
    generation: u64,
    state: &'a Mutex<State>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Lease<'_> {
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
    /// Closes the idle connection that was used least recently, if one is wanted.
    fn close_if_wanted(&mut self) {
        self.archive.take_if(|_| self.is_one_wanted);
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
            permits: Arc::new(Semaphore::new(connector.config().pool_size)),
            waiting: Semaphore::new(MAX_WAITING),
            connector,
        }
    }

    pub(crate) fn config(&self) -> &PostgresConfig {
        self.connector.config()
    }

    pub(crate) fn activity(&self) -> Activity {
        let state = lock(&self.state);
        let (idle, in_use) = (state.idle.len(), state.in_use);
        let waiting = MAX_WAITING - self.waiting.available_permits();
        Activity { connections: idle + in_use, idle, waiting }
    }

    /// Runs a call within its deadline.
    pub(crate) async fn within_deadline<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timeout = self.config().call_timeout;
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
            let (_lease, connection) = self.get().await?;
            let result = connection.query_alone(sql, values).await;
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

    /// Begins a transaction of several statements, on a connection outside of the pool: these are rare. Nothing of it has
    /// happened until its commit has returned; nothing ever does if it is dropped.
    pub(crate) async fn begin(
        &self,
        purpose: Purpose,
        begin: &str,
    ) -> Result<Connection, StoreFailure> {
        let kept = lock(&self.state).archive.take_if(|_| purpose == Purpose::Archive);
        if let Some(connection) = kept
            && connection.begin(begin).await.is_ok()
        {
            return Ok(connection);
        }
        let connection = self.connect(purpose).await?;
        connection.begin(begin).await?;
        Ok(connection)
    }

    /// Keeps a connection for the next transaction of an archive, after its own has ended.
    pub(crate) fn keep(&self, connection: Connection) {
        lock(&self.state).archive = Some(connection);
    }

    /// Returns a connection outside of the pool. Where the server allows no more, or lets it wait, one of the pool is
    /// closed for it.
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
        match connected {
            Err(failure) if is_full(&failure) => {}
            connected => return connected,
        }
        // The permit is held meanwhile: whoever had it would ask the server for the same connection.
        let (mut lease, _) = self.get().await?;
        lease.connection = None;
        let deadline = Instant::now() + self.config().pool_timeout;
        loop {
            match self.connector.connect(purpose).await {
                Err(failure) if is_full(&failure) && Instant::now() < deadline => {
                    time::sleep(CLOSE_PAUSE).await;
                }
                connected => return connected,
            }
        }
    }

    /// Uses no connection again that was made until now.
    pub(crate) fn drop_all(&self) {
        let mut state = lock(&self.state);
        state.generation += 1;
        state.idle.clear();
        state.archive = None;
    }

    /// Returns a connection, a new one if none is idle.
    async fn get(&self) -> Result<(Lease<'_>, Arc<Connection>), StoreFailure> {
        let full = |_| StoreFailure::PoolQueueFull(MAX_WAITING);
        let _waiting = self.waiting.try_acquire().map_err(full)?;
        let timeout = self.config().pool_timeout;
        let (deadline, mut failure) = (Instant::now() + timeout, StoreFailure::Busy(timeout));
        loop {
            let permit = Arc::clone(&self.permits).acquire_owned();
            let Ok(Ok(permit)) = time::timeout_at(deadline, permit).await else {
                return Err(failure);
            };
            // A connection found broken while it is made may have been to the same server.
            let mut lease = self.lease(permit);
            let connected = match lease.connection.clone().filter(|idle| !idle.is_closed()) {
                Some(connection) => Ok(connection),
                None => self.connector.connect(Purpose::Calls).await.map(Arc::new),
            };
            match connected {
                Ok(connection) => {
                    lease.connection = Some(Arc::clone(&connection));
                    return Ok((lease, connection));
                }
                Err(refused) if is_full(&refused) => {
                    let permit = lease.permit.take();
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

    /// Returns a lease of the connection that was given back last, if there is one.
    fn lease(&self, permit: OwnedSemaphorePermit) -> Lease<'_> {
        let mut state = lock(&self.state);
        state.in_use += 1;
        let (connection, generation) = (state.idle.pop(), state.generation);
        Lease { connection, generation, state: &self.state, permit: Some(permit) }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a server was reached that allows no more connections.
fn is_full(failure: &StoreFailure) -> bool {
    failure.has_state(&SqlState::TOO_MANY_CONNECTIONS)
}
