//! [`ApiKeyRepository`] on PostgreSQL.

pub(crate) mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, NewApiKey, RollKeyError, StoreError,
    StoredKeys, Timestamp,
};

use crate::{
    connection::{Connection, READ_COMMITTED},
    connector::Purpose,
    error::StoreFailure,
    store::PostgresStore,
};

#[async_trait]
impl ApiKeyRepository for PostgresStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        let add = async |transaction: &Connection| {
            rows::live_keys(transaction, &key).await?.permit_add(max)?;
            Ok(rows::insert(transaction, key).await?)
        };
        self.change_keys(add).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        let roll = async |transaction: &Connection| {
            rows::live_keys(transaction, &key).await?.permit_roll(max)?;
            let (name, now) = (key.name.as_str(), key.created_at.0);
            let live = rows::keys(&transaction.query(rows::LIVE_BY_NAME, &[&name, &now]).await?)?;
            let retired: Vec<_> = live.into_iter().map(|key| key.retired(retire_at)).collect();
            rows::update(transaction, &retired).await?;
            Ok(rows::insert(transaction, key).await?)
        };
        self.change_keys(roll).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let revoke = async |transaction: &Connection| {
            let found = match &selector {
                KeySelector::Id(id) => transaction.query(rows::NOT_REVOKED_BY_ID, &[&id.0]).await?,
                KeySelector::Name(name) => {
                    transaction.query(rows::NOT_REVOKED_BY_NAME, &[&name.as_str()]).await?
                }
            };
            let mut keys = rows::keys(&found)?;
            for key in &mut keys {
                key.revoked_at = Some(at);
            }
            rows::update(transaction, &keys).await?;
            Ok(keys)
        };
        self.change_keys(revoke).await
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        let list = async { Ok(rows::stored_keys(&self.pool.query(rows::ALL, &[]).await?)) };
        self.pool.within_deadline(list).await
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        let live = async { Ok(rows::stored_keys(&self.pool.query(rows::LIVE, &[&now.0]).await?)) };
        self.pool.within_deadline(live).await
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        // The last of each key, in one order on all instances.
        let mut last: BTreeMap<i64, i64> = BTreeMap::new();
        for (KeyId(id), Timestamp(at)) in uses {
            last.entry(id).and_modify(|known| *known = at.max(*known)).or_insert(at);
        }
        let (ids, times): (Vec<i64>, Vec<i64>) = last.into_iter().unzip();
        let note = async {
            self.pool.query(rows::NOTE_USE, &[&ids, &times]).await?;
            Ok(())
        };
        self.pool.within_deadline(note).await
    }
}

impl PostgresStore {
    /// Runs `change` in a transaction that no other change of keys runs beside, on any instance.
    async fn change_keys<T, E: From<StoreFailure>>(
        &self,
        change: impl AsyncFnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let change = async {
            let _turn = self.changing_keys.lock().await;
            let begin = self.pool.begin(Purpose::Calls, READ_COMMITTED);
            let transaction = begin.await?;
            transaction.query(rows::GUARD, &[]).await?;
            let changed = change(&transaction).await?;
            transaction.commit().await?;
            Ok(changed)
        };
        self.pool.within_deadline(change).await
    }
}
