//! [`KeyStore`] on SQLite.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys};

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
            let mut is_change = !removed.is_empty();
            for key in &changed {
                let stored = rows::find::<StoreError>(connection, key.id)?;
                is_change |= stored.is_none_or(|stored| stored.is_changed_by(key));
            }
            if is_change {
                rows::renew(connection)?;
            }
            rows::write(connection, &changed)?;
            rows::remove(connection, &removed)?;
            Ok(Saved::Yes)
        };
        self.writer()?.write(save).await
    }
}
