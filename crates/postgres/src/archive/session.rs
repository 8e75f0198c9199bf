//! A transaction on a connection of its own, whose statements may take long.

use tokio::time;
use tokio_postgres::Row;

use crate::{
    connection::{Connection, Values},
    connector::{ARCHIVE_TIMEOUT, Connector, Purpose},
    error::StoreFailure,
};

pub(super) const READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
pub(super) const WRITING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A transaction that is open. Dropping it closes its connection, and so rolls it back.
#[derive(Debug)]
pub(super) struct ArchiveSession(Connection);

impl ArchiveSession {
    pub(super) async fn begin(connector: &Connector, begin: &str) -> Result<Self, StoreFailure> {
        let session = Self(connector.connect(Purpose::Archive).await?);
        session.batch(begin).await?;
        Ok(session)
    }

    pub(super) async fn rows(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreFailure> {
        within_timeout(self.0.rows(sql, values)).await
    }

    pub(super) async fn execute(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<u64, StoreFailure> {
        within_timeout(self.0.execute(sql, values)).await
    }

    pub(super) async fn batch(&self, sql: &str) -> Result<(), StoreFailure> {
        within_timeout(self.0.batch(sql)).await
    }

    pub(super) async fn commit(&self) -> Result<(), StoreFailure> {
        within_timeout(self.0.commit()).await
    }
}

async fn within_timeout<T, E: Into<StoreFailure>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreFailure> {
    let done = time::timeout(ARCHIVE_TIMEOUT, work).await;
    done.map_err(|_| StoreFailure::Deadline(ARCHIVE_TIMEOUT))?.map_err(Into::into)
}
