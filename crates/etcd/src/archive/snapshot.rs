//! [`Snapshot`] on etcd: the entries at one revision.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, HighestIds, IdempotencyRecord, KeyId, Pet, PetId, RecordPosition, Snapshot,
    StoreCounts, StoreError,
};

use crate::{core::Core, error::Failure, head::HeadRead, kv::KeyValue, rows};

/// The entries at the revision of `read`. Reads fail once etcd has compacted that revision away.
pub(super) struct EtcdSnapshot {
    pub(super) core: Arc<Core>,
    pub(super) read: HeadRead,
}

impl EtcdSnapshot {
    async fn count(&self, folder: &str) -> Result<u64, Failure> {
        self.core.count(folder, self.read.revision).await
    }

    async fn scan(
        &self,
        folder: &str,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<KeyValue>, Failure> {
        self.core.scan_by_id(&self.read, folder, after, limit as usize).await
    }
}

#[async_trait]
impl Snapshot for EtcdSnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let keys = &self.core.keys;
        Ok(StoreCounts {
            pets: self.count(&keys.pets(None)).await?,
            keys: self.count(&keys.folder("keys")).await?,
            records: self.count(&keys.folder("recorded")).await?,
        })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let some = |id: i64| (id > 0).then_some(id);
        let (pet, key) = (some(self.read.head.last_pet), some(self.read.head.last_key));
        Ok(HighestIds { pet: pet.map(PetId), key: key.map(KeyId) })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map(|id| self.core.keys.pet(None, id));
        let pets = self.scan(&self.core.keys.pets(None), after, limit).await?;
        Ok(pets.iter().map(rows::pet).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        let keys = self.core.api_keys(0, self.read.revision).await?;
        let keys = keys.into_iter().map(|key| key.map_err(|corrupt| corrupt.corruption));
        Ok(keys.collect::<Result<_, _>>()?)
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let after = after.map(|position| self.core.keys.recorded(position));
        let records = self.scan(&self.core.keys.folder("recorded"), after, limit).await?;
        Ok(records.iter().map(rows::record).collect::<Result<_, _>>()?)
    }
}
