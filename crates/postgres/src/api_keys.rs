//! [`KeyStore`] on PostgreSQL.

pub(crate) mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyStore, Saved, StoreError, StoredKeys, Timestamp,
};

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
            rows::write(&transaction, &changed).await?;
            transaction.query(rows::REMOVE, &[&removed]).await?;
            transaction.commit().await?;
            Ok(Saved::Yes)
        };
        self.pool.within_deadline(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        // The last of each key, in one order on all instances.
        let mut last: BTreeMap<i64, i64> = BTreeMap::new();
        for (KeyId(id), Timestamp(at)) in uses {
            last.entry(id).and_modify(|known| *known = at.max(*known)).or_insert(at);
        }
        let (ids, times): (Vec<i64>, Vec<i64>) = last.into_iter().unzip();
        let note = async {
            self.pool.query(rows::NOTE_USES, &[&ids, &times]).await?;
            Ok(())
        };
        self.pool.within_deadline(note).await
    }
}
