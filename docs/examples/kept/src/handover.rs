//! [`Handover`] in memory.

use std::{ops::Bound, sync::atomic::Ordering};

use async_trait::async_trait;
use petstore_domain::{Changes, Handover, Pet, PetId, StoreError, StoreState};

use crate::store::KeptStore;

#[async_trait]
impl Handover for KeptStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        Ok(self.state().handover.clone())
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let stored = &mut self.state().handover;
        let changes = stored.revision == expected;
        if changes {
            *stored = StoreState { rewrites: stored.rewrites, ..new };
        }
        Ok(changes)
    }

    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        let state = self.state();
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let following = state.pets.range((after, Bound::Unbounded)).take(limit as usize);
        let pets: Vec<Pet> = following.map(|(_, pet)| pet.clone()).collect();
        let (first, last) = (pets.first().map(|pet| pet.id), pets.last().map(|pet| pet.id));
        let theirs = |id| Some(id) >= first && Some(id) <= last;
        let records = state.records.values().filter(|record| theirs(record.pet)).copied().collect();
        Ok(Changes { pets, records })
    }

    fn read_while_sealed(&self) {
        self.reads_while_sealed.store(true, Ordering::Relaxed);
    }
}
