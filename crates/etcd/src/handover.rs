//! [`Handover`] on etcd: the state is part of the head, which every write compares.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use petstore_domain::{Changes, Corruption, Handover, PetId, StoreError, StoreState};

use crate::{
    core::Plan,
    error::Failure,
    rows::{self, Puts},
    store::EtcdStore,
};

#[async_trait]
impl Handover for EtcdStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let view = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(view.head.state()?)
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let changed = self.core.commit(&[], None, |view, _| {
            let mut head = view.head.clone();
            if head.state()?.revision != expected {
                return Ok::<_, Failure>(Plan::Done(false));
            }
            head.set_state(&new);
            head.renew()?;
            Ok(Plan::Write(Box::new(head), Puts::new(), Vec::new(), true))
        });
        Ok(changed.await?)
    }

    /// Identifiers are assigned in the transaction that adds the animals, so they become visible in their order.
    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError> {
        let core = &self.core;
        let view = core.read(&[], core.client.deadline()).await?;
        let stored = core.scan_pets(&view, after, limit as usize).await?;
        let ids = stored.iter().flat_map(|stored| &stored.records);
        let keys: Vec<_> = ids.map(|id| core.keys.record(id)).collect();
        let found = core.read_each(&keys, view.revision).await?;
        let records = found.iter().flatten().map(rows::record);
        let mut records = records.collect::<Result<Vec<_>, Corruption>>()?;
        let pets: Vec<_> = stored.into_iter().map(|stored| stored.pet).collect();
        // One whose id was used again for another animal is the other's.
        records.retain(|record| pets.binary_search_by_key(&record.pet, |pet| pet.id).is_ok());
        records.sort_by_key(|record| record.id);
        records.dedup_by_key(|record| record.id);
        Ok(Changes { pets, records })
    }

    fn read_while_sealed(&self) {
        self.core.reads_while_sealed.store(true, Ordering::Relaxed);
    }
}
