//! [`Relocatable`] in memory.

use std::ops::Bound;

use async_trait::async_trait;
use petstore_domain::{
    Changes, Differences, Pet, PetId, Purged, Relocatable, Relocation, Restore as _, RestoreError,
    StoreError, Writer,
};

use crate::{archive::restore::Transaction, store::MemoryStore};

#[async_trait]
impl Relocatable for MemoryStore {
    async fn relocation(&self) -> Result<Option<Relocation>, StoreError> {
        Ok(self.state().relocation.clone())
    }

    async fn begin(&self, row: Relocation) -> Result<bool, StoreError> {
        let mut state = self.state();
        let begins = state.relocation.is_none();
        state.relocation.get_or_insert(row);
        Ok(begins)
    }

    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(stored) = state.relocation.as_mut().filter(|row| row.revision == expected) else {
            return Ok(false);
        };
        let differences = stored.differences.clone();
        *stored = Relocation { differences, ..row };
        Ok(true)
    }

    async fn end(&self, expected: i64) -> Result<bool, StoreError> {
        Ok(self.state().relocation.take_if(|row| row.revision == expected).is_some())
    }

    async fn note_differences(
        &self,
        Differences { count, last }: Differences,
    ) -> Result<(), StoreError> {
        if let Some(row) = &mut self.state().relocation {
            row.differences = Differences { count: row.differences.count + count, last };
        }
        Ok(())
    }

    async fn horizon(&self) -> Result<Option<PetId>, StoreError> {
        Ok(self.state().pets.last_key_value().map(|(id, _)| *id))
    }

    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        let state = self.state();
        let following =
            state.pets.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        let pets: Vec<Pet> = following
            .map(|(_, pet)| pet.clone())
            .take_while(|pet| pet.id <= up_to)
            .take(limit as usize)
            .collect();
        let (first, last) = (pets.first().map(|pet| pet.id), pets.last().map(|pet| pet.id));
        let theirs = |id| Some(id) >= first && Some(id) <= last;
        let records = state.records.values().filter(|record| theirs(record.pet)).copied().collect();
        let oldest = state.records.values().map(|record| record.at).min();
        let purged = Some(Purged::new(oldest, up_to));
        Ok(Changes { pets, records, keys: Vec::new(), purged })
    }

    async fn apply(
        &self,
        Changes { pets, records, keys, purged }: Changes,
    ) -> Result<(), RestoreError> {
        self.state().permit(Writer::Follower)?;
        let mut transaction = Box::new(Transaction::new(self.state.clone(), Writer::Follower));
        transaction.pets(pets).await?;
        transaction.idempotency_records(records).await?;
        transaction.keys(keys).await?;
        if let Some(purged) = purged {
            transaction.purge(purged)?;
        }
        Ok(transaction.commit().await?)
    }
}
