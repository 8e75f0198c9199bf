//! One connection, and what was prepared on it.

use std::{
    collections::HashMap,
    fmt, future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    time,
};
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement, types::ToSql};

use crate::error::StoreFailure;

/// How long a connection may take to close before it is cut off.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What is bound to a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection. Dropping it closes it; the server rolls back what was not committed.
pub(crate) struct Connection {
    client: Client,
    /// Statements live as long as the connection that they were prepared on.
    prepared: Mutex<HashMap<&'static str, Statement>>,
    /// Whether the server has warned of anything. Nothing that this crate sends is worth a warning
    /// but a commit that did not wait for its standby.
    warned: Arc<AtomicBool>,
    /// Notified when the connection is dropped.
    closing: Arc<Notify>,
}

impl Connection {
    pub(crate) fn new<S, T>(client: Client, wire: tokio_postgres::Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let warned = Arc::new(AtomicBool::new(false));
        let closing = Arc::new(Notify::new());
        let driver = drive(wire, Arc::clone(&warned));
        tokio::spawn(until_closed(driver, Arc::clone(&closing)));
        Self { client, prepared: Mutex::default(), warned, closing }
    }

    /// Runs SQL that has no values and no rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Runs a statement that is prepared at its first use.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, values).await
    }

    /// Runs a statement; how many rows it has changed.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, values).await
    }

    /// Prepares a statement unless it is, so that later nothing waits for that.
    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<Statement, Error> {
        let known = self.prepared().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Commits. It has happened, and is as durable as was promised, only if this is `Ok`.
    pub(crate) async fn commit(&self) -> Result<(), StoreFailure> {
        self.batch("COMMIT").await?;
        if self.warned.swap(false, Ordering::AcqRel) {
            return Err(StoreFailure::NotReplicated);
        }
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn prepared(&self) -> MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.closing.notify_one();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// Drives a connection until it ends. After it was dropped, the driver has a bounded time to send
/// what is left and the message of termination.
async fn until_closed(driver: impl Future<Output = ()>, closing: Arc<Notify>) {
    let cut_off = async {
        closing.notified().await;
        time::sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        () = driver => {}
        () = cut_off => {}
    }
}

/// Moves bytes until the connection ends. Why it ends, its statements report.
async fn drive<S, T>(mut wire: tokio_postgres::Connection<S, T>, warned: Arc<AtomicBool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = future::poll_fn(|context| wire.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && !["NOTICE", "INFO", "LOG", "DEBUG"].contains(&notice.severity())
        {
            // Set before the commit's own answer is handed on: it comes behind this message.
            warned.store(true, Ordering::Release);
        }
    }
}
