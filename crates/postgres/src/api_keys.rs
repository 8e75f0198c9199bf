//! [`ApiKeyRepository`] on PostgreSQL.

pub(crate) mod rows;

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, NewApiKey, RollKeyError, StoreError,
    Timestamp,
};

use crate::{PostgresStore, error::Failure, transaction::Transaction};

#[async_trait]
impl ApiKeyRepository for PostgresStore {
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError> {
        self.pool.within(self.add_key(key, most)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.pool.within(self.roll_key(key, retire_at, most)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.pool.within(self.revoke_keys(&selector, at)).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        let list = async { Ok(rows::keys(&self.pool.read(rows::ALL, &[]).await?)?) };
        self.pool.within(list).await
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, StoreError> {
        let live = async { Ok(rows::keys(&self.pool.read(rows::LIVE, &[&now.0]).await?)?) };
        self.pool.within(live).await
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
        self.pool.within(note).await
    }
}

impl PostgresStore {
    /// A transaction that no other change of keys runs beside, on any instance.
    async fn change_keys(&self) -> Result<Transaction, crate::error::StoreFailure> {
        let transaction = Transaction::begin(&self.pool).await?;
        transaction.rows(rows::GUARD, &[]).await?;
        Ok(transaction)
    }

    async fn add_key(&self, key: NewApiKey, most: u32) -> Result<ApiKey, Failure<AddKeyError>> {
        let transaction = self.change_keys().await?;
        let refusal = if rows::name_is_live(&transaction, &key.name, key.created_at).await? {
            Some(AddKeyError::NameTaken)
        } else if rows::count_live(&transaction, key.created_at).await? >= i64::from(most) {
            Some(AddKeyError::TooManyKeys(most))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            transaction.roll_back().await?;
            return Err(Failure::Answer(refusal));
        }
        let key = rows::insert(&transaction, key).await?;
        transaction.commit().await?;
        Ok(key)
    }

    async fn roll_key(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, Failure<RollKeyError>> {
        let transaction = self.change_keys().await?;
        let refusal = if !rows::name_is_live(&transaction, &key.name, key.created_at).await? {
            Some(RollKeyError::NoSuchKey)
        } else if rows::count_live(&transaction, key.created_at).await? >= i64::from(most) {
            Some(RollKeyError::TooManyKeys(most))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            transaction.roll_back().await?;
            return Err(Failure::Answer(refusal));
        }
        let values = (key.name.as_str(), key.created_at.0, retire_at.0);
        transaction.execute(rows::RETIRE, &[&values.0, &values.1, &values.2]).await?;
        let key = rows::insert(&transaction, key).await?;
        transaction.commit().await?;
        Ok(key)
    }

    async fn revoke_keys(
        &self,
        selector: &KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, Failure<StoreError>> {
        let transaction = self.change_keys().await?;
        let found = match selector {
            KeySelector::Id(id) => transaction.rows(rows::NOT_REVOKED_BY_ID, &[&id.0]).await?,
            KeySelector::Name(name) => {
                transaction.rows(rows::NOT_REVOKED_BY_NAME, &[&name.as_str()]).await?
            }
        };
        // All are read before the first is written: a corrupt row is an answer, and it changes
        // nothing.
        let mut keys = rows::keys(&found)?;
        let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
        transaction.execute(rows::REVOKE, &[&ids, &at.0]).await?;
        transaction.commit().await?;
        for key in &mut keys {
            key.revoked_at = Some(at);
        }
        Ok(keys)
    }
}
