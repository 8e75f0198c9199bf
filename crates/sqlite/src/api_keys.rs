//! [`ApiKeyRepository`] on SQLite.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyDigest, KeyId, KeySelector, NewApiKey, RollKeyError,
    StoreError, Timestamp,
};
use rusqlite::Connection;

use crate::{SqliteStore, error::Failure};

#[async_trait]
impl ApiKeyRepository for SqliteStore {
    async fn add(&self, key: NewApiKey, most: u32) -> Result<ApiKey, AddKeyError> {
        self.writer.write(move |connection| add(connection, key, most)).await
    }

    async fn roll(
        &self,
        key: NewApiKey,
        retire_at: Timestamp,
        most: u32,
    ) -> Result<ApiKey, RollKeyError> {
        self.writer.write(move |connection| roll(connection, key, retire_at, most)).await
    }

    async fn revoke(
        &self,
        selector: KeySelector,
        at: Timestamp,
    ) -> Result<Vec<ApiKey>, StoreError> {
        self.writer.write(move |connection| revoke(connection, &selector, at)).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.readers.read(rows::all)
    }

    async fn live(&self, now: Timestamp) -> Result<Vec<ApiKey>, StoreError> {
        self.readers.read(|connection| rows::live(connection, now))
    }

    async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.writer.write(move |connection| Ok(rows::note_use(connection, &uses)?)).await
    }
}

fn add(connection: &Connection, key: NewApiKey, most: u32) -> Result<ApiKey, Failure<AddKeyError>> {
    if rows::name_is_live(connection, &key.name, key.created_at)? {
        return Err(Failure::Answer(AddKeyError::NameTaken));
    }
    if rows::count_live(connection, key.created_at)? >= most {
        return Err(Failure::Answer(AddKeyError::TooManyKeys(most)));
    }
    refuse_known_digest(connection, &key.digest)?;
    Ok(rows::insert(connection, key)?)
}

fn roll(
    connection: &Connection,
    key: NewApiKey,
    retire_at: Timestamp,
    most: u32,
) -> Result<ApiKey, Failure<RollKeyError>> {
    if !rows::name_is_live(connection, &key.name, key.created_at)? {
        return Err(Failure::Answer(RollKeyError::NoSuchKey));
    }
    if rows::count_live(connection, key.created_at)? >= most {
        return Err(Failure::Answer(RollKeyError::TooManyKeys(most)));
    }
    refuse_known_digest(connection, &key.digest)?;
    rows::retire(connection, &key.name, key.created_at, retire_at)?;
    Ok(rows::insert(connection, key)?)
}

/// A digest belongs to one key. No caller makes the same key twice, so this has no error of its
/// own; but it must not roll back the writes of others, as the constraint of the schema would.
fn refuse_known_digest<E: From<StoreError>>(
    connection: &Connection,
    digest: &KeyDigest,
) -> Result<(), Failure<E>> {
    if rows::digest_exists(connection, digest)? {
        let refusal = StoreError::unavailable("an API key with this digest is already stored");
        return Err(Failure::Answer(refusal.into()));
    }
    Ok(())
}

fn revoke(
    connection: &Connection,
    selector: &KeySelector,
    at: Timestamp,
) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    // All are read before the first is written: a corrupt row is an answer, and it changes nothing.
    let mut keys = rows::not_revoked(connection, selector)?;
    for key in &mut keys {
        rows::revoke(connection, key.id, at)?;
        key.revoked_at = Some(at);
    }
    Ok(keys)
}
