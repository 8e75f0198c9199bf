//! [`ApiKeyRepository`] on SQLite.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeySelector, KeyState, NewApiKey, RollKeyError,
    StoreError, StoredKeys, Timestamp,
};
use rusqlite::Connection;

use crate::{error::Failure, store::SqliteStore};

#[async_trait]
impl ApiKeyRepository for SqliteStore {
    async fn add(&self, key: NewApiKey, max: u32) -> Result<ApiKey, AddKeyError> {
        self.writer()?.write(move |connection, _| add(connection, key, max)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        max: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.writer()?.write(move |connection, _| roll(connection, key, retire_at, max)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.writer()?.write(move |connection, _| revoke(connection, &selector, at)).await
    }

    async fn list(&self) -> Result<StoredKeys, StoreError> {
        self.readers.read(rows::all).await
    }

    async fn live(&self, now: Timestamp) -> Result<StoredKeys, StoreError> {
        self.readers.read(move |connection| rows::live(connection, now)).await
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.writer()?.write(move |connection, _| Ok(rows::note_use(connection, &uses)?)).await
    }
}

fn add(connection: &Connection, key: NewApiKey, max: u32) -> Result<ApiKey, Failure<AddKeyError>> {
    rows::live_keys(connection, &key)?.permit_add(max).map_err(Failure::Answer)?;
    Ok(rows::insert(connection, key)?)
}

fn roll(
    connection: &Connection,
    key: NewApiKey,
    retire_at: Timestamp,
    max: u32,
) -> Result<ApiKey, Failure<RollKeyError>> {
    rows::live_keys(connection, &key)?.permit_roll(max).map_err(Failure::Answer)?;
    let same_name = KeySelector::Name(key.name.clone());
    for old in rows::not_revoked(connection, &same_name)? {
        if old.state(key.created_at) == KeyState::Live {
            rows::write(connection, &old.retired(retire_at))?;
        }
    }
    Ok(rows::insert(connection, key)?)
}

fn revoke(
    connection: &Connection,
    selector: &KeySelector,
    at: Timestamp,
) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    // All are read before the first is written: a corrupt row is an answer, and it changes nothing.
    let mut keys = rows::not_revoked(connection, selector)?;
    for key in &mut keys {
        key.revoked_at = Some(at);
        rows::write(connection, key)?;
    }
    Ok(keys)
}
