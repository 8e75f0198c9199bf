//! [`KeyStore`] on SQLite.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys, Timestamp,
};

use crate::store::SqliteStore;

#[async_trait]
impl KeyStore for SqliteStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.readers.read(move |connection| rows::load(connection, unless)).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        let save = move |connection: &_, _: &mut _| {
            if rows::head(connection)?.revision != expected {
                return Ok(Saved::Lost);
            }
            rows::write(connection, &changed)?;
            rows::remove(connection, &removed)?;
            Ok(Saved::Yes)
        };
        self.writer()?.write(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.writer()?.write(move |connection, _| Ok(rows::note_uses(connection, &uses)?)).await
    }
}
