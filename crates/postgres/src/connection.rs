//! One connection, and the transactions on it.
//!
//! A pooler such as `PgBouncer` gives a session of the server to another client after each transaction. Then
//! nothing may stay in it: no prepared statement, whose name another client uses too, and no setting. So each
//! statement is sent together with its values, and each transaction begins with its settings. This
//! costs the server three to four times as much for a read, which is planned anew each time
//! (`docs/POSTGRES.md`), so a session of our own prepares its statements.

#[cfg(test)]
mod tests;

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
    time,
};
use tokio_postgres::{AsyncMessage, Client, Error, Row, SimpleQueryMessage, Statement};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    error::StoreFailure,
    values::{Values, typed, untyped},
};

/// Each statement sees what was committed before it.
pub(crate) const READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// The same, where animals are written: triggers know by it who writes, and a statement that is sent together with
/// the beginning knows that it has a transaction (`petstore_may_add`).
pub(crate) const WRITING: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL petstore.writer = 'on'";
/// The same, where animals are added under the next identifiers and nothing else is changed.
pub(crate) const APPENDING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL petstore.writer = 'on'; SET LOCAL petstore.append = 'on'";
/// The same, where the lock is awaited before the next statement is sent.
pub(crate) const APPENDING_LOCKED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL petstore.writer = 'on'; SET LOCAL petstore.append = 'on'; SET LOCAL petstore.locked = 'on'";
/// All statements see what was committed before the first.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The routine of the server that warns when a commit has stopped waiting for its standby. All else that it
/// says of a message depends on its language, and triggers may warn of anything.
const WAIT_FOR_STANDBY: &str = "SyncRepWaitForLSN";

/// How long a connection that was dropped may take to receive the answers that are on their way and to say that it
/// ends, before it is cut off.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection. Dropping it closes it; the server rolls back what was not committed.
pub(crate) struct Connection {
    client: Client,
    session: Session,
    /// Limits each statement: how long the server and the network together may take.
    timeout: Duration,
    /// `true` if the server has warned, since the transaction began, that its commit did not wait for a standby.
    not_replicated: Arc<AtomicBool>,
    /// Tells the task that moves the bytes.
    _dropped: DropGuard,
}

/// Whose the server's session is.
enum Session {
    /// This connection's: it keeps settings and prepared statements.
    Own(Mutex<HashMap<&'static str, Statement>>),
    /// A pooler's: it is ours from the beginning of a transaction to its end.
    Shared {
        /// SQL that applies the settings to one transaction.
        settings: String,
    },
}

impl Connection {
    /// Returns a connection with a session of its own.
    pub(crate) fn new<S, T>(
        client: Client,
        mut wire: tokio_postgres::Connection<S, T>,
        timeout: Duration,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let not_replicated: Arc<AtomicBool> = Arc::default();
        let (warned, dropped) = (Arc::clone(&not_replicated), CancellationToken::new());
        // Moves the bytes until the connection ends. Why it ends, its statements report.
        let driver = async move {
            while let Some(Ok(message)) =
                future::poll_fn(|context| wire.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message
                    && notice.routine() == Some(WAIT_FOR_STANDBY)
                {
                    // Set before the commit's own answer is handed on: it comes behind this message.
                    warned.store(true, Ordering::Release);
                }
            }
        };
        let is_dropped = dropped.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = driver => {}
                () = async {
                    is_dropped.cancelled().await;
                    time::sleep(CLOSE_TIMEOUT).await;
                } => {}
            }
        });
        let session = Session::Own(Mutex::default());
        Self { client, session, timeout, not_replicated, _dropped: dropped.drop_guard() }
    }

    /// Returns the same, where a pooler gives the session to others between two transactions. `settings` is
    /// SQL that applies to one transaction.
    pub(crate) fn with_shared_session(mut self, settings: String) -> Self {
        self.session = Session::Shared { settings };
        self
    }

    /// Returns whether a pooler gives the session to others between two transactions.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.session, Session::Shared { .. })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs SQL that has no values and no rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreFailure> {
        self.bounded(self.client.batch_execute(sql)).await
    }

    /// Begins a transaction by the statement `begin`.
    pub(crate) async fn begin(&self, begin: &str) -> Result<(), StoreFailure> {
        self.not_replicated.store(false, Ordering::Release);
        match &self.session {
            Session::Own(_) => self.batch(begin).await,
            Session::Shared { settings } => self.batch(&format!("{begin}; {settings}")).await,
        }
    }

    /// Runs a statement of a transaction.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.bounded(async {
            match self.prepare(sql).await? {
                Some(statement) => {
                    self.client.query(&statement, &untyped(&statement, values)).await
                }
                None => Box::pin(self.client.query_typed(sql, &typed(values))).await,
            }
        })
        .await
    }

    /// Runs a statement that is a transaction by itself.
    ///
    /// In a shared session the settings need a transaction around the statement. All of it is sent at
    /// once, so it takes one round trip as well.
    pub(crate) async fn query_alone(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        if !self.is_shared() {
            return self.query(sql, values).await;
        }
        let (begun, rows, committed) = tokio::join!(
            biased;
            Box::pin(self.begin("BEGIN")),
            self.query(sql, values),
            Box::pin(self.batch("COMMIT")),
        );
        begun?;
        let rows = rows?;
        committed.map(|()| rows)
    }

    /// Prepares a statement unless it is, so that later nothing waits for that. `None` in a shared
    /// session, where a statement is sent together with its values.
    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<Option<Statement>, Error> {
        let Session::Own(prepared) = &self.session else { return Ok(None) };
        let statements = || prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = statements().get(sql).cloned() {
            return Ok(Some(statement));
        }
        // Once for each statement, so its state need not be part of every call.
        let statement = Box::pin(self.client.prepare(sql)).await?;
        statements().insert(sql, statement.clone());
        Ok(Some(statement))
    }

    /// Commits. It has happened, and is as durable as was promised, only if this is `Ok`.
    pub(crate) async fn commit(&self) -> Result<(), StoreFailure> {
        self.batch("COMMIT").await?;
        if self.not_replicated.load(Ordering::Acquire) {
            return Err(StoreFailure::NotReplicated);
        }
        Ok(())
    }

    /// Rolls back after a failure, whether or not the transaction has ended with it.
    pub(crate) async fn rollback(&self) -> Result<(), StoreFailure> {
        self.batch("ROLLBACK").await
    }

    /// Returns whether a query without values answers `expected`.
    pub(crate) async fn shows(&self, sql: &str, expected: &str) -> Result<bool, StoreFailure> {
        let messages = self.bounded(self.client.simple_query(sql)).await?;
        Ok(messages.iter().any(|message| {
            matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(expected))
        }))
    }

    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreFailure> {
        let done = time::timeout(self.timeout, work).await;
        Ok(done.map_err(|_| StoreFailure::Deadline(self.timeout))??)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
