//! [`KeyStore`] on PostgreSQL.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys};

use crate::{connection::READ_COMMITTED, connector::Purpose, store::PostgresStore};

#[async_trait]
impl KeyStore for PostgresStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let known = unless.map(|KeyRevision(revision)| revision.to_be_bytes());
        let known = known.as_ref().map(<[u8; 16]>::as_slice);
        let load = async {
            let found = self.pool.query(rows::LOAD, &[&known]).await?;
            rows::loaded(&found, unless)
        };
        self.pool.within_deadline(load).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        let removed: Vec<i64> = removed.into_iter().map(|KeyId(id)| id).collect();
        let save = async {
            let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
            let found = transaction.query(rows::LOCK, &[]).await?;
            if rows::revision(found.first(), 0)? != expected {
                return Ok(Saved::Lost);
            }
            let ids: Vec<i64> = changed.iter().map(|key| key.id.0).collect();
            let stored = rows::keys(&transaction.query(rows::BY_ID, &[&ids]).await?)?;
            let is_use = |key: &ApiKey| {
                stored.iter().any(|stored| stored.id == key.id && !stored.is_changed_by(key))
            };
            if removed.is_empty() && changed.iter().all(is_use) {
                rows::note_uses(&transaction, &changed).await?;
            } else {
                rows::write(&transaction, &changed).await?;
                transaction.query(rows::REMOVE, &[&removed]).await?;
            }
            transaction.commit().await?;
            Ok(Saved::Yes)
        };
        self.pool.within_deadline(save).await
    }
}
