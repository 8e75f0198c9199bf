//! [`KeyStore`] on SQLite.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys,
    Timestamp,
};
use rusqlite::Connection;

use crate::store::SqliteStore;

#[async_trait]
impl KeyStore for SqliteStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.readers.read(move |connection| rows::load(connection, unless)).await
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        self.readers.read(move |connection| rows::changes(connection, known)).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let save = move |connection: &Connection| {
            if rows::head(connection)?.0 != expected {
                return Ok(SaveOutcome::Conflict);
            }
            rows::remove(connection, &removed)?;
            changed.iter().try_for_each(|key| rows::write(connection, key))?;
            rows::renew(connection)?;
            Ok(SaveOutcome::Saved)
        };
        self.writer()?.write(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let note = move |connection: &Connection| {
            Ok(uses.iter().try_for_each(|(id, at)| rows::note_use(connection, *id, *at))?)
        };
        self.writer()?.write(note).await
    }
}
