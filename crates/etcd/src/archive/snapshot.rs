//! The view of the store at one revision.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, IdempotencyId, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts, StoreError,
};

use crate::{
    core::Core,
    error::Failure,
    head::View,
    kv::{Range, RangeAnswer},
    rows,
};

/// All that was there at the revision of the view. It can be read until etcd compacts that revision away.
pub(super) struct Frozen {
    pub(super) core: Arc<Core>,
    pub(super) view: View,
}

impl Frozen {
    async fn count(&self, folder: &str) -> Result<u64, Failure> {
        let range =
            Range { revision: self.view.revision, count_only: true, ..Range::after(None, folder) };
        let deadline = self.core.client.deadline();
        let reply = self.core.client.call::<RangeAnswer>("/v3/kv/range", &range, deadline).await?;
        Ok(reply.answer.count.unsigned_abs())
    }
}

#[async_trait]
impl Snapshot for Frozen {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let keys = &self.core.keys;
        Ok(StoreCounts {
            pets: self.count(&keys.pets(None)).await?,
            keys: self.count(&keys.folder("keys")).await?,
            idempotency_records: self.count(&keys.folder("records")).await?,
        })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let pets = self.core.scan_pets(&self.view, after, limit as usize).await?;
        Ok(pets.into_iter().map(|stored| stored.pet).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        let keys = self.core.api_keys(self.view.revision).await?;
        let keys = keys.into_iter().map(|key| key.map_err(|corrupt| corrupt.corruption));
        Ok(keys.collect::<Result<_, _>>()?)
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let keys = &self.core.keys;
        let range = Range::after(after.map(|id| keys.record(&id)), &keys.folder("records"));
        let entries = self.core.scan(range, limit as usize, self.view.revision).await?;
        Ok(entries.iter().map(rows::record).collect::<Result<_, _>>()?)
    }
}
