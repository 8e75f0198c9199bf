//! [`Handover`] on PostgreSQL: columns of the one row of `petstore_state`. Triggers enforce the state for every writer.

use async_trait::async_trait;
use petstore_domain::{Corruption, Handover, Phase, StoreError, StoreId, StoreState};
use petstore_storage::error_chain;
use tokio_postgres::Row;

use crate::{
    connection::READ_COMMITTED,
    connector::Purpose,
    store::PostgresStore,
    values::Bytes,
    version::{self, where_state},
};

pub(crate) const STATE: &str = "SELECT identity, revision, rewrites, state, other, label \
     FROM petstore_state ORDER BY changes DESC LIMIT 1";
const CHANGE: &str = concat!(
    "UPDATE petstore_state SET identity = $2::bytea, revision = $3, state = $4::text, \
     other = $5::bytea, label = $6::text, version = $7::bytea, changes = changes + 1",
    where_state!(),
    "AND revision = $1 RETURNING 1"
);

#[async_trait]
impl Handover for PostgresStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let read = async { Ok(from_row(self.pool.query(STATE, &[]).await?.first())?) };
        self.pool.within_deadline(read).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let (word, other, label) = new.phase.parts();
        let (id, other) = (&new.id.0[..], other.as_ref().map(|other| &other.0[..]));
        let version = if new.phase.is_open() { version::random()? } else { Vec::new() };
        // Uses a transaction, because the pool may send a single statement twice.
        let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
        let changed = transaction
            .query(CHANGE, &[&expected, &id, &new.revision, &word, &other, &label, &version])
            .await?;
        transaction.commit().await?;
        Ok(!changed.is_empty())
    }
}

pub(crate) fn from_row(row: Option<&Row>) -> Result<StoreState, Corruption> {
    let broken = |rule: &str| Corruption::new("the state of the store", rule);
    let row = row.ok_or_else(|| broken("petstore_state has a row"))?;
    let read = || -> Result<_, tokio_postgres::Error> {
        let other = row.try_get::<_, Option<_>>(4)?.map(|Bytes(other)| StoreId(other));
        let phase = Phase::from_parts(row.try_get(3)?, other, row.try_get(5)?);
        Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, phase))
    };
    let (Bytes(id), revision, rewrites, phase) =
        read().map_err(|error| broken(&error_chain(&error)))?;
    Ok(StoreState { id: StoreId(id), revision, rewrites, phase: phase? })
}
