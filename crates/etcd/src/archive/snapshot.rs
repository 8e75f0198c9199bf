//! The view of the store at one revision.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Corruption, IdempotencyId, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts,
    StoreError,
};

use crate::{
    core::Core,
    error::Failure,
    kv::{Range, RangeAnswer},
    rows::{self, StoredPet},
};

/// All that was there at one revision. It can be read until etcd compacts that revision away.
pub(super) struct View {
    core: Arc<Core>,
    revision: i64,
    /// No animal has a higher identifier.
    highest: i64,
}

impl View {
    pub(super) fn new(core: Arc<Core>, revision: i64, highest: i64) -> Self {
        Self { core, revision, highest }
    }

    async fn count(&self, folder: &str) -> Result<u64, Failure> {
        let range =
            Range { revision: self.revision, count_only: true, ..Range::after(None, folder) };
        let deadline = self.core.client.deadline();
        let reply = self.core.client.call::<RangeAnswer>("/v3/kv/range", &range, deadline).await?;
        Ok(reply.answer.count.unsigned_abs())
    }
}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let keys = &self.core.keys;
        Ok(StoreCounts {
            pets: self.count(&keys.pets(None)).await?,
            keys: self.count(&keys.folder("keys")).await?,
            idempotency_records: self.count(&keys.folder("records")).await?,
        })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let (limit, mut entries) = (limit as usize, Vec::new());
        for (range, last) in self.core.keys.pet_ranges(None, after, limit) {
            (entries, _) = self.core.scan(range, limit, self.revision).await?;
            if entries.len() == limit || last >= self.highest {
                break;
            }
        }
        let pets = entries.iter().map(|entry| Ok(StoredPet::from_entry(entry)?.pet));
        Ok(pets.collect::<Result<_, Corruption>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        let keys = self.core.api_keys(self.revision).await?;
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
        let (entries, _) = self.core.scan(range, limit as usize, self.revision).await?;
        Ok(entries.iter().map(rows::record).collect::<Result<_, _>>()?)
    }
}
