//! [`Archive`] in memory.

pub(crate) mod restore;

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, IdempotencyId, IdempotencyRecord, Pet, PetId, Restore, Snapshot, StoreCounts,
    StoreError, Writer,
};

use self::restore::Transaction;
use crate::{state::State, store::MemoryStore};

#[async_trait]
impl Archive for MemoryStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View(self.state().clone())))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        self.state().handover.permit(Writer::Service)?;
        Ok(Box::new(Transaction::new(self.state.clone(), Writer::Service)))
    }
}

/// A copy of the whole state.
struct View(State);

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let State { pets, records, keys, .. } = &self.0;
        let [pets, keys, idempotency_records] =
            [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, idempotency_records })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.0.pets.range((after, Bound::Unbounded));
        Ok(following.take(limit as usize).map(|(_, pet)| pet.clone()).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.0.keys.clone())
    }

    async fn idempotency_records(
        &mut self,
        after: Option<IdempotencyId>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = self.0.records.range((after, Bound::Unbounded));
        Ok(following.take(limit as usize).map(|(_, record)| *record).collect())
    }
}
