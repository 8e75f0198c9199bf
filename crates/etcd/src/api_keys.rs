//! [`KeyStore`] on etcd.

use std::collections::BTreeMap;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyId, KeyRevision, KeyStore, Resolution, RestoreError, Saved, StoreError,
    StoredKeys, Writer,
};

use crate::{
    core::{Core, Plan},
    error::Failure,
    head::Head,
    kv::{KeyValue, Range},
    rows::{self, Keys, Puts},
    store::EtcdStore,
};

#[async_trait]
impl KeyStore for EtcdStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let view = self.core.read(&[], self.core.client.deadline()).await?;
        let revision = view.head.key_revision();
        if unless == Some(revision) {
            return Ok(None);
        }
        let next_id = KeyId(view.head.last_key.saturating_add(1));
        let rows = self.core.api_keys(view.revision).await?;
        Ok(Some(StoredKeys::new(revision, next_id, rows)))
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        let ranges = [Range::after(None, &self.core.keys.folder("keys"))];
        let saved = self.core.commit(&ranges, None, |view, _| {
            let mut head = view.head.clone();
            head.permit(Writer::Service)?;
            if head.key_revision() != expected {
                return Ok::<_, Failure>(Plan::Done(Saved::Lost));
            }
            let stored = Stored::new(&view.found[0]);
            let is_use = |key: &ApiKey| {
                stored.keys.get(&key.id).is_some_and(|stored| !stored.is_changed_by(key))
            };
            if !removed.is_empty() || !changed.iter().all(is_use) {
                head.renew_keys()?;
            }
            let mut puts = Puts::new();
            let put = stored.put(&changed, &self.core.keys, &mut head, &mut puts);
            put.map_err(|error| Failure::Refused(error.to_string()))?;
            let deletes: Vec<_> = removed.iter().map(|id| self.core.keys.api_key(*id)).collect();
            puts.retain(|key, _| !deletes.contains(key));
            Ok(Plan::Write(Box::new(head), puts, deletes, Saved::Yes))
        });
        Ok(saved.await?)
    }
}

impl Core {
    /// Reads every key at a revision.
    pub(crate) async fn api_keys(
        &self,
        revision: i64,
    ) -> Result<Vec<Result<ApiKey, CorruptKey>>, Failure> {
        let range = Range::after(None, &self.keys.folder("keys"));
        let entries = self.scan(range, usize::MAX, revision).await?;
        Ok(entries.iter().map(rows::api_key).collect())
    }
}

/// The keys that a store holds and that can be read.
pub(crate) struct Stored {
    keys: BTreeMap<KeyId, ApiKey>,
}

impl Stored {
    pub(crate) fn new(entries: &[KeyValue]) -> Self {
        let keys = entries.iter().filter_map(|entry| rows::api_key(entry).ok());
        Self { keys: keys.map(|key| (key.id, key)).collect() }
    }

    /// Puts keys under their own identifiers, or what has become of them.
    pub(crate) fn put(
        mut self,
        changed: &[ApiKey],
        keys: &Keys,
        head: &mut Head,
        puts: &mut Puts,
    ) -> Result<(), RestoreError> {
        for key in changed {
            let owner = self.keys.values().find(|stored| stored.digest == key.digest);
            let owner = owner.map(|owner| owner.id);
            let resolved = Resolution::of_key(self.keys.get(&key.id), owner, key)?;
            rows::put_api_key(puts, keys, &resolved);
            head.last_key = head.last_key.max(resolved.id.0);
            self.keys.insert(resolved.id, resolved);
        }
        Ok(())
    }
}
