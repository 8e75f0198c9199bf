//! One connection, and the transactions on it. A pooler such as `PgBouncer` lends the server's session to another
//! client after each transaction, so the session must keep no state. Through such a pooler, each statement is sent with
//! its values, and each transaction begins with its settings. The server then plans a read each time, which costs three
//! to four times as much (`docs/POSTGRES.md`). So a connection with its own session prepares its statements.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::oneshot, time};
use tokio_postgres::{AsyncMessage, Client, Config, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    error::StoreFailure,
    values::{Values, typed, untyped},
};

/// Begins a transaction in which each statement sees all earlier commits.
pub(crate) const READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Begins a transaction that writes animals. Triggers recognize petstore's writes by the setting. Statements that were
/// sent together run even if the server refused `BEGIN`, so `petstore_add` fails without the setting.
pub(crate) const WRITING: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL petstore.writer = 'on'";
/// Begins a transaction that only adds animals, under the next identifiers. An open store does not count this as a
/// rewrite (`schema/6.sql`).
pub(crate) const APPENDING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL petstore.writer = 'on'; SET LOCAL petstore.append = 'on'";
/// Begins a transaction like [`APPENDING`], for a caller that waits for the lock before it sends the next statement.
/// `petstore_add` then succeeds even if the lock came late.
pub(crate) const APPENDING_LOCKED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL petstore.writer = 'on'; SET LOCAL petstore.append = 'on'; SET LOCAL petstore.locked = 'on'";
/// Begins a transaction in which all statements see the commits before the first statement.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The server routine that warns when a commit stops waiting for its standby. The warning's text depends on the
/// server's language, and a trigger may raise any other warning.
const WAIT_FOR_STANDBY: &str = "SyncRepWaitForLSN";

/// The time limit of a dropped connection for receiving its last answers and closing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection. Dropping it closes it, and the server rolls back an open transaction.
pub(crate) struct Connection {
    client: Client,
    /// SQL that applies the settings to one transaction, if a pooler owns the session and lends it for one transaction
    /// at a time. `None` if the connection owns the session, which then keeps settings and prepared statements.
    pub(crate) shared_settings: Option<String>,
    prepared: Mutex<HashMap<&'static str, Statement>>,
    /// The time limit of each statement, for the server and the network together.
    timeout: Duration,
    /// `true` if the server warned that a commit did not wait for a standby. From then on, `commit` fails.
    not_replicated: Arc<AtomicBool>,
    /// Dropping the sender ends the task that moves the bytes, at the latest after [`CLOSE_TIMEOUT`].
    _dropped: oneshot::Sender<()>,
}

impl Connection {
    /// Opens a connection whose session may belong to a pooler.
    pub(crate) async fn open(
        driver: &Config,
        tls: MakeRustlsConnect,
        timeout: Duration,
    ) -> Result<Self, StoreFailure> {
        let (client, mut wire) = driver.connect(tls).await?;
        let not_replicated: Arc<AtomicBool> = Arc::default();
        let warned = Arc::clone(&not_replicated);
        let (dropped, is_dropped) = oneshot::channel::<()>();
        // Moves the bytes until the connection ends. The statements that fail then report the reason.
        let driver = async move {
            while let Some(Ok(message)) =
                future::poll_fn(|context| wire.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message
                    && notice.routine() == Some(WAIT_FOR_STANDBY)
                {
                    // The commit's own answer comes after this message.
                    warned.store(true, Ordering::Release);
                }
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = driver => {}
                () = async {
                    // Fails when the sender is dropped.
                    let _ = is_dropped.await;
                    time::sleep(CLOSE_TIMEOUT).await;
                } => {}
            }
        });
        Ok(Self {
            client,
            shared_settings: Some(String::new()),
            prepared: Mutex::default(),
            timeout,
            not_replicated,
            _dropped: dropped,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs SQL without values, and ignores its rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreFailure> {
        self.bounded(self.client.batch_execute(sql)).await
    }

    /// Begins a transaction with the statement `begin`.
    pub(crate) async fn begin(&self, begin: &str) -> Result<(), StoreFailure> {
        match &self.shared_settings {
            None => self.batch(begin).await,
            Some(settings) => self.batch(&format!("{begin}; {settings}")).await,
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

    /// Runs a statement as a transaction of its own.
    ///
    /// In a shared session the settings need a transaction around the statement. Everything is sent at once, so the
    /// transaction takes one round trip.
    pub(crate) async fn query_alone(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        if self.shared_settings.is_none() {
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

    /// Returns the prepared statement, and prepares it the first time. Returns `None` in a shared session, where a
    /// statement is sent together with its values.
    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<Option<Statement>, Error> {
        if self.shared_settings.is_some() {
            return Ok(None);
        }
        let statements = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = statements().get(sql).cloned() {
            return Ok(Some(statement));
        }
        // Boxed so that the state of this rare call is not part of every call.
        let statement = Box::pin(self.client.prepare(sql)).await?;
        statements().insert(sql, statement.clone());
        Ok(Some(statement))
    }

    /// Commits. Only `Ok` means that the commit happened and is as durable as promised.
    pub(crate) async fn commit(&self) -> Result<(), StoreFailure> {
        self.batch("COMMIT").await?;
        if self.not_replicated.load(Ordering::Acquire) {
            return Err(StoreFailure::NotReplicated);
        }
        Ok(())
    }

    /// Runs `work` with the time limit of a statement.
    pub(crate) async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreFailure> {
        let done = time::timeout(self.timeout, work).await;
        Ok(done.map_err(|_| StoreFailure::Deadline(self.timeout))??)
    }
}
