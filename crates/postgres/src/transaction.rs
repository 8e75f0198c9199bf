//! A transaction of several steps, on a connection of its own: these are rare, and so an open
//! transaction never comes back to a pool.

use std::time::Duration;

use tokio::time;
use tokio_postgres::Row;

use crate::{
    connection::Connection,
    connector::Purpose,
    error::StoreFailure,
    pool::Pool,
    values::{Value, Values},
};

/// Each statement sees what was committed before it.
pub(crate) const READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// The same, where animals are written: triggers know by it who writes, and a statement that is sent together with
/// the beginning knows that it has a transaction ([`in_writing!`]).
pub(crate) const WRITING: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL petstore.writer = 'on'";
/// All statements see what was committed before the first.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A condition that is an error outside of a transaction that has begun by [`WRITING`]. Where the beginning is
/// refused, as when an operator cancels it, what is sent behind it must not be a transaction by itself.
macro_rules! in_writing {
    () => {
        "1 / (coalesce(current_setting('petstore.writer', true), '') = 'on')::integer = 1"
    };
}
pub(crate) use in_writing;

/// Nothing of it has happened until `commit` has returned; nothing ever does if it is dropped, for
/// then its connection is closed.
#[derive(Debug)]
pub(crate) struct Transaction {
    connection: Connection,
    /// Of each statement.
    timeout: Duration,
}

impl Transaction {
    pub(crate) async fn begin(
        pool: &Pool,
        purpose: Purpose,
        begin: &str,
    ) -> Result<Self, StoreFailure> {
        let connection = pool.connect(purpose).await?;
        Self::begin_on(connection, purpose.timeout(pool.parameters()), begin).await
    }

    /// Begins on a connection that is in no transaction.
    pub(crate) async fn begin_on(
        connection: Connection,
        timeout: Duration,
        begin: &str,
    ) -> Result<Self, StoreFailure> {
        let transaction = Self { connection, timeout };
        transaction.within_timeout(transaction.connection.begin(begin)).await?;
        Ok(transaction)
    }

    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.within_timeout(self.connection.rows(sql, values)).await
    }

    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        self.within_timeout(self.connection.execute(sql, values)).await
    }

    /// See [`Connection::copy`].
    pub(crate) async fn copy<'a, const N: usize>(
        &self,
        sql: &'static str,
        rows: impl Iterator<Item = [&'a dyn Value; N]>,
    ) -> Result<Option<u64>, StoreFailure> {
        self.within_timeout(self.connection.copy(sql, rows)).await
    }

    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreFailure> {
        self.within_timeout(self.connection.batch(sql)).await
    }

    /// Commits; the connection is in no transaction then.
    pub(crate) async fn commit(self) -> Result<Connection, StoreFailure> {
        self.within_timeout(self.connection.commit()).await?;
        Ok(self.connection)
    }

    async fn within_timeout<T, E: Into<StoreFailure>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StoreFailure> {
        let done = time::timeout(self.timeout, work).await;
        done.map_err(|_| StoreFailure::Deadline(self.timeout))?.map_err(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use petstore_testing::{needs, postgres_or_skip};

    use super::{READ_COMMITTED, Transaction};
    use crate::{
        config::PostgresConfig,
        connector::{Connector, Purpose},
        error::StoreFailure,
        pool::Pool,
    };

    #[needs(postgres)]
    #[tokio::test]
    async fn a_statement_that_is_not_answered_ends_within_the_timeout() {
        let Some(database) = postgres_or_skip("a_statement_that_is_not_answered") else { return };
        let url = format!("{}?statement_timeout=20s&call_timeout=2s", database.url);
        let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
        let pool = Pool::new(Arc::new(connector)).unwrap();
        let begin = Transaction::begin(&pool, Purpose::Calls, READ_COMMITTED).await;
        let waited = begin.unwrap().rows("SELECT pg_sleep(60)", &[]).await;
        assert!(matches!(waited, Err(StoreFailure::Deadline(_))), "{waited:?}");
    }
}
