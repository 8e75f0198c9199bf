//! [`Archive`] in memory.

mod restore;

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, AttemptRecord, Idempotency, Pet, PetId, ReadError, Restore, Snapshot,
    StoreCounts, Unavailable,
};

use self::restore::Transaction;
use crate::{
    MemoryStore,
    state::{Attempt, State},
};

#[async_trait]
impl Archive for MemoryStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, Unavailable> {
        Ok(Box::new(View::of(self.state().clone())))
    }

    async fn restore(&self) -> Result<Box<dyn Restore>, Unavailable> {
        Ok(Box::new(Transaction::on(self.state.clone())))
    }
}

/// A copy of the whole state.
struct View {
    state: State,
    /// The records of `state` in the order of the port.
    attempts: Vec<AttemptRecord>,
}

impl View {
    fn of(state: State) -> Self {
        let records =
            state.attempts.iter().map(|((caller, key), Attempt { fingerprint, pet, at })| {
                let idempotency = Idempotency { caller: *caller, key: key.clone() };
                AttemptRecord { idempotency, fingerprint: *fingerprint, pet: pet.id, at: *at }
            });
        let mut attempts: Vec<_> = records.collect();
        attempts.sort_by(|one, other| place(&one.idempotency).cmp(&place(&other.idempotency)));
        Self { state, attempts }
    }
}

/// Where a record stands in the order of the port.
fn place(Idempotency { caller, key }: &Idempotency) -> ([u8; 32], &str) {
    (caller.0, key.as_str())
}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, ReadError> {
        let State { pets, attempts, keys, .. } = &self.state;
        let [pets, keys, attempts] = [pets.len(), keys.len(), attempts.len()].map(|n| n as u64);
        Ok(StoreCounts { pets, keys, attempts })
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, ReadError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = self.state.pets.range((after, Bound::Unbounded));
        Ok(behind.take(at_most as usize).map(|(_, pet)| pet.clone()).collect())
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, ReadError> {
        Ok(self.state.keys.clone())
    }

    async fn attempts(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<AttemptRecord>, ReadError> {
        let start = after.map_or(0, |after| {
            self.attempts.partition_point(|record| place(&record.idempotency) <= place(&after))
        });
        Ok(self.attempts[start..].iter().take(at_most as usize).cloned().collect())
    }
}
