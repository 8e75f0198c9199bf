//! [`Relocatable`] on PostgreSQL.

mod horizon;
pub(crate) mod rows;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use petstore_domain::{
    Changes, Differences, PetId, Purged, Relocatable, Relocation, Restore as _, RestoreError,
    StoreError, Timestamp,
};
use tokio_postgres::error::SqlState;

use crate::{
    archive::restore::Restoring,
    connection::{Connection, READ_COMMITTED, WRITING},
    connector::Purpose,
    error::StoreFailure,
    store::PostgresStore,
    values::Values,
};

#[async_trait]
impl Relocatable for PostgresStore {
    async fn relocation(&self) -> Result<Option<Relocation>, StoreError> {
        let read = async {
            if !rows::is_true(&self.pool.query(rows::EXISTS, &[]).await?)? {
                return Ok(None);
            }
            match self.pool.query(rows::SELECT, &[]).await {
                Ok(found) => rows::relocation(&found),
                // The move has ended between the two.
                Err(failure) if failure.has_state(&SqlState::UNDEFINED_TABLE) => Ok(None),
                Err(failure) => Err(failure.into()),
            }
        };
        self.pool.within_deadline(read).await
    }

    async fn begin(&self, row: Relocation) -> Result<bool, StoreError> {
        let transaction = self.locked(Purpose::Archive).await?;
        if rows::is_true(&transaction.query(rows::EXISTS, &[]).await?)? {
            return Ok(false);
        }
        transaction.batch(rows::CREATE).await?;
        rows::insert(&transaction, &row).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError> {
        let transaction = self.locked(Purpose::Calls).await?;
        if !rows::is_true(&transaction.query(rows::EXISTS, &[]).await?)? {
            return Ok(false);
        }
        let Relocation { role, revision, peer, differences: _ } = row;
        let values: Values<'_> = &[&expected, &role.as_str(), &revision, &peer];
        let changed = transaction.query(rows::CHANGE, values).await?;
        transaction.commit().await?;
        Ok(changed.len() == 1)
    }

    async fn end(&self, expected: i64) -> Result<bool, StoreError> {
        let transaction = self.locked(Purpose::Calls).await?;
        if !rows::is_true(&transaction.query(rows::EXISTS, &[]).await?)? {
            return Ok(false);
        }
        let stored = rows::relocation(&transaction.query(rows::SELECT, &[]).await?)?;
        let ends = stored.is_some_and(|row| row.revision == expected);
        if ends {
            transaction.batch(rows::DROP).await?;
        }
        transaction.commit().await?;
        Ok(ends)
    }

    async fn note_differences(
        &self,
        Differences { count, last }: Differences,
    ) -> Result<(), StoreError> {
        let note = async {
            // Not by the pool, which may repeat what was counted already.
            let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
            match transaction.query(rows::NOTE, &[&count, &last]).await {
                Err(failure) if failure.has_state(&SqlState::UNDEFINED_TABLE) => Ok(()),
                Ok(_) => Ok(transaction.commit().await?),
                Err(failure) => Err(failure.into()),
            }
        };
        self.pool.within_deadline(note).await
    }

    async fn horizon(&self) -> Result<Option<PetId>, StoreError> {
        Ok(self.pool.within_deadline(horizon::find(&self.pool)).await?)
    }

    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        let first = after.map_or(i64::MIN, |id| id.0.saturating_add(1));
        let read = async {
            let found = self.pool.query(rows::PETS, &[&first, &up_to.0, &i64::from(limit)]).await?;
            let pets = rows::pets(&found)?;
            let records = match pets.last() {
                Some(last) => self.pool.query(rows::RECORDS, &[&first, &last.id.0]).await?,
                None => Vec::new(),
            };
            let records = rows::records(&records)?;
            // Looked up last: what is purged after the records were read is purged from them too.
            let oldest = rows::number(&self.pool.query(rows::OLDEST_RECORD, &[]).await?)?;
            let purged = Some(Purged::new(oldest.map(Timestamp), up_to));
            Ok(Changes { pets, records, keys: Vec::new(), purged })
        };
        self.pool.within_deadline(read).await
    }

    async fn apply(
        &self,
        Changes { pets, records, keys, purged }: Changes,
    ) -> Result<(), RestoreError> {
        let transaction = self.pool.begin(Purpose::Archive, WRITING).await?;
        if !rows::is_true(&transaction.query(rows::EXISTS, &[]).await?)? {
            return Err(StoreError::fenced("it is in no move").into());
        }
        transaction.batch(rows::AS_FOLLOWER).await?;
        let restoring = Restoring::new(transaction, self.version.clone());
        let mut restoring = Box::new(restoring);
        restoring.pets(pets).await?;
        restoring.idempotency_records(records).await?;
        restoring.keys(keys).await?;
        if let Some(purged) = purged {
            restoring.purge(&purged).await?;
        }
        Ok(restoring.commit().await?)
    }
}

impl PostgresStore {
    /// A transaction that no write is under way beside.
    async fn locked(&self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let transaction = self.pool.begin(purpose, READ_COMMITTED).await?;
        transaction.batch(rows::LOCK).await?;
        Ok(transaction)
    }
}
