//! [`ApiKeyRepository`] on PostgreSQL.

pub(crate) mod rows;

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, NewApiKey, RollKeyError, StoreError,
    Timestamp,
};

use crate::{error::StoreFailure, store::PostgresStore, transaction::Transaction};

#[async_trait]
impl ApiKeyRepository for PostgresStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        self.pool.within_deadline(self.add_key(key, max)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.pool.within_deadline(self.roll_key(key, retire_at, max)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.pool.within_deadline(self.revoke_keys(&selector, at)).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        let list = async { rows::keys(&self.pool.read(rows::ALL, &[]).await?) };
        self.pool.within_deadline(list).await
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, StoreError> {
        let live = async { rows::keys(&self.pool.read(rows::LIVE, &[&now.0]).await?) };
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
            self.pool.change(rows::NOTE_USE, &[&ids, &times]).await?;
            Ok(())
        };
        self.pool.within_deadline(note).await
    }
}

impl PostgresStore {
    /// A transaction that no other change of keys runs beside, on any instance.
    async fn change_keys(&self) -> Result<Transaction, StoreFailure> {
        let transaction = Transaction::begin(&self.pool).await?;
        transaction.rows(rows::GUARD, &[]).await?;
        Ok(transaction)
    }

    async fn add_key(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        let transaction = self.change_keys().await?;
        if let Err(refusal) = rows::live_keys(&transaction, &key).await?.permit_add(max) {
            transaction.roll_back().await?;
            return Err(refusal);
        }
        let key = rows::insert(&transaction, key).await?;
        transaction.commit().await?;
        Ok(key)
    }

    async fn roll_key(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        let transaction = self.change_keys().await?;
        if let Err(refusal) = rows::live_keys(&transaction, &key).await?.permit_roll(max) {
            transaction.roll_back().await?;
            return Err(refusal);
        }
        let values = (key.name.as_str(), key.created_at.0);
        let live = transaction.rows(rows::LIVE_BY_NAME, &[&values.0, &values.1]).await?;
        let retired = rows::keys(&live)?.into_iter().map(|key| key.retired(retire_at));
        rows::update(&transaction, &retired.collect::<Vec<_>>()).await?;
        let key = rows::insert(&transaction, key).await?;
        transaction.commit().await?;
        Ok(key)
    }

    async fn revoke_keys(
        &self,
        selector: &KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let transaction = self.change_keys().await?;
        let found = match selector {
            KeySelector::Id(id) => transaction.rows(rows::NOT_REVOKED_BY_ID, &[&id.0]).await?,
            KeySelector::Name(name) => {
                transaction.rows(rows::NOT_REVOKED_BY_NAME, &[&name.as_str()]).await?
            }
        };
        let mut keys = rows::keys(&found)?;
        for key in &mut keys {
            key.revoked_at = Some(at);
        }
        rows::update(&transaction, &keys).await?;
        transaction.commit().await?;
        Ok(keys)
    }
}
