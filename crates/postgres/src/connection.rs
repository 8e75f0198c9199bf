//! One connection.

mod driver;
pub(crate) mod session;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
};
use tokio_postgres::{
    Client, Error, Row, SimpleQueryMessage, Statement, binary_copy::BinaryCopyInWriter,
};

use self::{
    driver::{drive, until_closed},
    session::{Prepared, Session},
};
use crate::{
    error::StoreFailure,
    values::{Value, Values, typed, untyped},
};

/// A connection. Dropping it closes it; the server rolls back what was not committed.
pub(crate) struct Connection {
    client: Client,
    session: Session,
    /// Whether the server has warned, since the transaction began, that its commit did not wait for a standby.
    not_replicated: Arc<AtomicBool>,
    /// Notified when the connection is dropped.
    closing: Arc<Notify>,
}

impl Connection {
    /// A connection with a session of its own.
    pub(crate) fn new<S, T>(client: Client, wire: tokio_postgres::Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let not_replicated = Arc::new(AtomicBool::new(false));
        let closing = Arc::new(Notify::new());
        let driver = drive(wire, Arc::clone(&not_replicated));
        tokio::spawn(until_closed(driver, Arc::clone(&closing)));
        Self { client, session: Session::Own(Prepared::default()), not_replicated, closing }
    }

    /// The same, where a pooler gives the session to others between two transactions. `settings` is
    /// SQL that applies to one transaction.
    pub(crate) fn with_shared_session(mut self, settings: String) -> Self {
        self.session = Session::Shared { settings };
        self
    }

    /// Runs SQL that has no values and no rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Begins a transaction by the statement `begin`.
    pub(crate) async fn begin(&self, begin: &str) -> Result<(), Error> {
        self.not_replicated.store(false, Ordering::Release);
        match &self.session {
            Session::Own(_) => self.batch(begin).await,
            Session::Shared { settings } => self.batch(&format!("{begin}; {settings}")).await,
        }
    }

    /// Runs a statement of a transaction.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Error> {
        match self.prepare(sql).await? {
            Some(statement) => self.client.query(&statement, &untyped(&statement, values)).await,
            None => Box::pin(self.client.query_typed(sql, &typed(values))).await,
        }
    }

    /// Runs a statement of a transaction; how many rows it has changed.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, Error> {
        match self.prepare(sql).await? {
            Some(statement) => self.client.execute(&statement, &untyped(&statement, values)).await,
            None => Box::pin(self.client.execute_typed(sql, &typed(values))).await,
        }
    }

    /// Writes rows by `sql`, a binary `COPY`, and answers how many they were. `None`, and nothing has
    /// happened, in a shared session: the driver copies by a prepared statement alone.
    pub(crate) async fn copy<'a, const N: usize>(
        &self,
        sql: &'static str,
        rows: impl Iterator<Item = [&'a dyn Value; N]>,
    ) -> Result<Option<u64>, Error> {
        let Some(statement) = self.prepare(sql).await? else { return Ok(None) };
        let mut rows = rows.peekable();
        let Some(first) = rows.peek() else { return Ok(Some(0)) };
        let types = first.map(Value::sql_type);
        let writer = BinaryCopyInWriter::new(self.client.copy_in(&statement).await?, &types);
        let mut writer = pin!(writer);
        for row in rows {
            writer.as_mut().write_raw(row.map(Value::as_sql)).await?;
        }
        writer.finish().await.map(Some)
    }

    /// Runs a statement that is a transaction by itself.
    pub(crate) async fn rows_alone(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Error> {
        self.alone(self.rows(sql, values)).await
    }

    /// Runs a statement that is a transaction by itself; how many rows it has changed.
    pub(crate) async fn execute_alone(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, Error> {
        self.alone(self.execute(sql, values)).await
    }

    /// Prepares a statement unless it is, so that later nothing waits for that. `None` in a shared
    /// session, where a statement is sent together with its values.
    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<Option<Statement>, Error> {
        let Session::Own(prepared) = &self.session else { return Ok(None) };
        if let Some(statement) = prepared.get(sql) {
            return Ok(Some(statement));
        }
        // Once for each statement, so its state need not be part of every call.
        let statement = Box::pin(self.client.prepare(sql)).await?;
        prepared.insert(sql, statement.clone());
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
    pub(crate) async fn rollback(&self) -> Result<(), Error> {
        self.batch("ROLLBACK").await
    }

    /// Whether a query without values answers `expected`.
    pub(crate) async fn shows(&self, sql: &str, expected: &str) -> Result<bool, Error> {
        let messages = self.client.simple_query(sql).await?;
        Ok(messages.iter().any(|message| {
            matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(expected))
        }))
    }

    /// Whether a pooler gives the session to others between two transactions.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.session, Session::Shared { .. })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// In a shared session the settings need a transaction around the statement. All of it is sent at
    /// once, so it takes one round trip as well.
    async fn alone<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let is_shared = self.is_shared();
        let (begun, done, committed) = tokio::join!(
            biased;
            async { if is_shared { Box::pin(self.begin("BEGIN")).await } else { Ok(()) } },
            work,
            async { if is_shared { Box::pin(self.batch("COMMIT")).await } else { Ok(()) } },
        );
        begun?;
        let done = done?;
        committed.map(|()| done)
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
