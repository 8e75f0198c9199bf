//! [`KeyStore`] on PostgreSQL.

pub(crate) mod rows;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError, StoredKeys,
    Timestamp,
};
use tokio_postgres::Row;

use crate::{connection::READ_COMMITTED, connector::Purpose, store::PostgresStore};

#[async_trait]
impl KeyStore for PostgresStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        rows::loaded(&self.load_keys(unless, i64::MIN).await?, unless)
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let position = known.map_or(i64::MIN, |known| known.position);
        rows::changes(&self.load_keys(known.map(|known| known.revision), position).await?, known)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let removed: Vec<i64> = removed.into_iter().map(|KeyId(id)| id).collect();
        let save = async {
            let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
            let found = transaction.query(rows::LOCK, &[]).await?;
            if rows::revision(found.first(), 0)? != expected {
                return Ok(SaveOutcome::Conflict);
            }
            transaction.query(rows::REMOVE, &[&removed]).await?;
            rows::write(&transaction, &changed).await?;
            transaction.commit().await?;
            Ok(SaveOutcome::Saved)
        };
        self.pool.within_deadline(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let ids: Vec<i64> = uses.iter().map(|(id, _)| id.0).collect();
        let times: Vec<i64> = uses.iter().map(|(_, at)| at.0).collect();
        let note = async {
            self.pool.query(rows::NOTE_USES, &[&ids, &times]).await?;
            Ok(())
        };
        self.pool.within_deadline(note).await
    }
}

impl PostgresStore {
    /// Returns the rows of [`rows::LOAD`].
    async fn load_keys(
        &self,
        unless: Option<KeyRevision>,
        after: i64,
    ) -> Result<Vec<Row>, StoreError> {
        let known = unless.map(|KeyRevision(revision)| revision.to_be_bytes());
        let known = known.as_ref().map(<[u8; 16]>::as_slice);
        let load = async { Ok(self.pool.query(rows::LOAD, &[&known, &after]).await?) };
        self.pool.within_deadline(load).await
    }
}
