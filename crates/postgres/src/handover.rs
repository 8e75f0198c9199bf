//! [`Handover`] on PostgreSQL: columns of the one row of `catalogue`, and triggers that hold them, whoever writes.

#[cfg(test)]
mod tests;

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use petstore_domain::{
    CatalogueVersion, Changes, Corruption, Handover, PetId, Phase, StoreError, StoreId, StoreState,
};
use tokio::time;
use tokio_postgres::Row;

use crate::{
    connection::READ_COMMITTED,
    connector::Purpose,
    error::StoreFailure,
    pets::{idempotency, rows},
    pool::Pool,
    store::PostgresStore,
    values::{column, scalar},
    version,
};

/// How long writers that are under way are waited for.
const WRITERS_TIMEOUT: Duration = Duration::from_secs(2);
/// How often they are looked for meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only_row = 1";
const CHANGE: &str = "UPDATE catalogue SET identity = $2::bytea, revision = $3, state = $4::text, \
     other = $5::bytea, label = $6::text, version = $7::bytea, changes = changes + 1 \
     WHERE only_row = 1 AND revision = $1 RETURNING 1";
const PETS: &str = "SELECT id, name, category_id, status FROM pet \
     WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3";
const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at \
     FROM idempotency WHERE pet_id BETWEEN $1 AND $2";

const HIGHEST: &str = "SELECT max(id) FROM pet";
const WRITERS: &str = "SELECT DISTINCT virtualtransaction FROM pg_locks \
     WHERE relation IN (to_regclass('pet'), to_regclass('idempotency')) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode = 'RowExclusiveLock' AND granted";
const ARE_WRITING: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks \
     WHERE relation IN (to_regclass('pet'), to_regclass('idempotency')) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode = 'RowExclusiveLock' AND granted AND virtualtransaction = ANY($1))";

#[async_trait]
impl Handover for PostgresStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let read = async { Ok(from_row(self.pool.query(STATE, &[]).await?.first())?) };
        self.pool.within_deadline(read).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let (word, other, label) = new.phase.columns();
        let (id, other) = (&new.id.0[..], other.as_ref().map(|other| &other.0[..]));
        let random = version::random()?;
        let version = if matches!(new.phase, Phase::Open { .. }) { &random[..] } else { &[] };
        // In a transaction, so that it is not tried twice.
        let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
        let changed = transaction
            .query(CHANGE, &[&expected, &id, &new.revision, &word, &other, &label, &version])
            .await?;
        transaction.commit().await?;
        Ok(!changed.is_empty())
    }

    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        let Some(first) = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1)) else {
            return Ok(Changes::default());
        };
        let read = async {
            let Some(horizon) = horizon(&self.pool).await? else { return Ok(Changes::default()) };
            let pets = self.pool.query(PETS, &[&first, &horizon, &i64::from(limit)]).await?;
            let pets: Vec<_> =
                pets.iter().map(|row| rows::pet(row, 0)).collect::<Result<_, _>>()?;
            let Some(last) = pets.last() else { return Ok(Changes::default()) };
            let records = self.pool.query(RECORDS, &[&first, &last.id.0]).await?;
            let records = records.iter().map(idempotency::record).collect::<Result<_, _>>()?;
            Ok(Changes { pets, records })
        };
        self.pool.within_deadline(read).await
    }

    fn read_while_sealed(&self) {
        self.reads_while_sealed.store(true, Ordering::Relaxed);
    }
}

impl PostgresStore {
    /// Refuses a read of what has no version, unless the store is sealed and sealed ones are read.
    pub(crate) async fn permit_read(
        &self,
        version: Option<CatalogueVersion>,
    ) -> Result<(), StoreError> {
        if version.is_some() {
            return Ok(());
        }
        let phase = from_row(self.pool.query(STATE, &[]).await?.first())?.phase;
        let while_sealed = self.reads_while_sealed.load(Ordering::Relaxed);
        if while_sealed && matches!(phase, Phase::Sealed { .. }) {
            return Ok(());
        }
        // It may have been opened since the read, which is to be repeated then.
        let opened = || "was opened a moment ago".to_owned();
        Err(StoreError::Sealed(phase.refusal().unwrap_or_else(opened)))
    }
}

fn from_row(row: Option<&Row>) -> Result<StoreState, Corruption> {
    let broken = |rule: &str| Corruption::new("the state of the store", rule);
    let row = row.ok_or_else(|| broken("there is one"))?;
    let read = || -> Result<_, tokio_postgres::Error> {
        let id = |bytes: &[u8]| bytes.try_into().map(StoreId).ok();
        let other = row.try_get::<_, Option<&[u8]>>(4)?.and_then(id);
        let phase = Phase::from_columns(row.try_get(3)?, other, row.try_get(5)?);
        Ok((id(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?, phase))
    };
    let (id, revision, rewrites, phase) = read().map_err(|error| broken(&error.to_string()))?;
    let id = id.ok_or_else(|| broken("its identity has 16 bytes"))?;
    let phase = phase.ok_or_else(|| broken("it is open, filling or sealed"))?;
    Ok(StoreState { id, revision, rewrites, phase })
}

/// Returns the identifier at or below which no animal can appear any more.
///
/// Writers draw identifiers before they commit, and do not commit in the order of the identifiers. But whoever has
/// drawn one below the highest that is committed holds a lock of writers on one of the tables already, and keeps it
/// until its animals can be read. So those who hold such a lock now are waited for. That locks nothing, so it holds
/// up no writer, and no vacuum holds it up.
async fn horizon(pool: &Pool) -> Result<Option<i64>, StoreFailure> {
    let highest = pool.query(HIGHEST, &[]).await?;
    let highest = highest.first().map_or(Ok(None), |row| row.try_get(0))?;
    // Read after it: who begins later draws a higher one.
    let writers: Vec<String> = column(&pool.query(WRITERS, &[]).await?)?;
    let start = Instant::now();
    while !writers.is_empty() && scalar(&pool.query(ARE_WRITING, &[&writers]).await?)? {
        if start.elapsed() > WRITERS_TIMEOUT {
            return Err(StoreFailure::Deadline(WRITERS_TIMEOUT));
        }
        time::sleep(POLL_INTERVAL).await;
    }
    Ok(highest)
}
