//! [`Archive`] on the file.

mod restore;

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Idempotency, IdempotencyKey, IdempotencyRecord, KeyDigest, Pet, PetId,
    Restore, Snapshot, StoreCounts, StoreError,
};

use self::restore::Transaction;
use crate::{
    FileStore,
    state::{Attempt, State},
};

#[async_trait]
impl Archive for FileStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View(self.state().clone())))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, StoreError> {
        Ok(Box::new(Transaction::on(self.clone())))
    }
}

/// A copy of the whole state: nothing changes it.
struct View(State);

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let State { pets, keys, attempts, .. } = &self.0;
        let [pets, keys, attempts] = [pets.len(), keys.len(), attempts.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, idempotency_records: attempts })
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = self.0.pets.range((after, Bound::Unbounded));
        Ok(behind.take(at_most as usize).map(|(_, pet)| pet.clone()).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.0.keys.values().cloned().collect())
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let after = after.map(|after| (after.caller.0, after.key.as_str().to_owned()));
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = self.0.attempts.range((after, Bound::Unbounded));
        Ok(behind
            .take(at_most as usize)
            .filter_map(|(key, attempt)| record(key, attempt))
            .collect())
    }
}

/// The record under this caller and key.
fn record((caller, key): &([u8; 32], String), attempt: &Attempt) -> Option<IdempotencyRecord> {
    let key = IdempotencyKey::parse(key).ok()?;
    let Attempt { fingerprint, pet, at } = *attempt;
    let idempotency = Idempotency { caller: KeyDigest(*caller), key };
    Some(IdempotencyRecord { idempotency, fingerprint, pet, at })
}
