//! [`Handover`] on PostgreSQL: columns of the one row of `catalogue`, and triggers that hold them, whoever writes.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use petstore_domain::{
    CatalogueVersion, Changes, Corruption, Handover, PetId, Phase, StoreError, StoreId, StoreState,
};
use tokio_postgres::Row;

use crate::{
    connection::READ_COMMITTED,
    connector::Purpose,
    pets::{idempotency, rows},
    store::PostgresStore,
    version,
};

const STATE: &str =
    "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only_row = 1";
const CHANGE: &str = "UPDATE catalogue SET identity = $2::bytea, revision = $3, state = $4::text, \
     other = $5::bytea, label = $6::text, version = $7::bytea, changes = changes + 1 \
     WHERE only_row = 1 AND revision = $1 RETURNING 1";
const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at \
     FROM idempotency WHERE pet_id BETWEEN $1 AND $2";

#[async_trait]
impl Handover for PostgresStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let read = async { Ok(from_row(self.pool.query(STATE, &[]).await?.first())?) };
        self.pool.within_deadline(read).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let (word, other, label) = new.phase.parts();
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

    /// Identifiers are drawn under the lock of the row, so they become visible in their order. Whoever writes otherwise,
    /// with SQL or by an older release, is counted as a rewrite by the row's trigger.
    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        let Some(first) = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1)) else {
            return Ok(Changes::default());
        };
        let read = async {
            let pets = self.pool.query(rows::FROM, &[&first, &i64::from(limit)]).await?;
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
        let phase = Phase::from_parts(row.try_get(3)?, other, row.try_get(5)?);
        Ok((id(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?, phase))
    };
    let (id, revision, rewrites, phase) = read().map_err(|error| broken(&error.to_string()))?;
    let id = id.ok_or_else(|| broken("its identity has 16 bytes"))?;
    let phase = phase.ok_or_else(|| broken("it is open, filling or sealed"))?;
    Ok(StoreState { id, revision, rewrites, phase })
}
