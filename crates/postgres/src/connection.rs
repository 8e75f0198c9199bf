//! One connection, what was prepared on it, and its settings.

use std::{
    collections::HashMap,
    fmt, future,
    sync::{
        Arc, Mutex, PoisonError,
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

use crate::{config::Parameters, error::StoreFailure};

/// How long whole stores may take for one batch.
pub(crate) const ARCHIVE_PATIENCE: Duration = Duration::from_mins(2);

/// How long closing a connection may take before it is broken off.
const GOOD_BYE: Duration = Duration::from_secs(1);

/// What is bound to a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short statements.
    Calls,
    /// Moving a whole store, or making its tables.
    Archive,
}

/// A connection. Dropping it closes it; the server rolls back what was not committed.
pub(crate) struct Connection {
    client: Client,
    /// Statements live as long as the connection that they were prepared on.
    prepared: Mutex<HashMap<&'static str, Statement>>,
    /// Whether the server has warned of anything. Nothing that this crate sends is worth a warning
    /// but a commit that did not wait for its standby.
    warned: Arc<AtomicBool>,
    /// Told when the connection is not needed any more.
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
        let driving = drive(wire, Arc::clone(&warned));
        tokio::spawn(until_closed(driving, Arc::clone(&closing)));
        Self { client, prepared: Mutex::default(), warned, closing }
    }

    /// Sets the session up.
    pub(crate) async fn configure(
        &self,
        parameters: &Parameters,
        purpose: Purpose,
    ) -> Result<(), Error> {
        self.batch(&settings(parameters, purpose)).await
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
        if self.warned.swap(false, Ordering::AcqRel) { Err(StoreFailure::Doubtful) } else { Ok(()) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
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

/// Drives a connection until it ends. One that is not needed any more says good-bye to the server,
/// but does not wait for long until that is heard.
async fn until_closed(driving: impl Future<Output = ()>, closing: Arc<Notify>) {
    let patience = async {
        closing.notified().await;
        time::sleep(GOOD_BYE).await;
    };
    tokio::select! {
        () = driving => {}
        () = patience => {}
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

/// A short statement that was planned when its table was still small must not read all of it when
/// it has grown, so plans go by indexes from the start. Where there are no such settings, none are
/// set.
const BY_INDEX: &str = "SELECT set_config(name, 'off', false) FROM pg_catalog.pg_settings \
     WHERE name IN ('enable_seqscan', 'enable_hashjoin', 'enable_mergejoin')";

fn settings(parameters: &Parameters, purpose: Purpose) -> String {
    let (statement, idle, plans) = match purpose {
        // Whoever goes away in the middle of a transaction must not hold up the others.
        Purpose::Calls => (parameters.statement_timeout, parameters.call_timeout, BY_INDEX),
        Purpose::Archive => (ARCHIVE_PATIENCE, Duration::ZERO, ""),
    };
    let schema = parameters.schema.as_ref().map_or_else(String::new, |schema| {
        format!("SET search_path = \"{}\";", schema.replace('"', "\"\""))
    });
    format!(
        "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; {schema} \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'; {plans}",
        statement.as_millis(),
        idle.as_millis()
    )
}
