//! The store as a whole, for `store copy`, `store verify`, `export` and `import`. Leave it out if you need none.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Batch, IdempotencyId, IdempotencyRecord, Pet, PetId, RestoreError, Snapshot,
    StoreCounts, StoreError, Written,
};

use crate::store::MyStore;

#[async_trait]
impl Archive for MyStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(View {}))
    }

    async fn write(&self, _batch: Batch) -> Result<Written, RestoreError> {
        todo!("one transaction: ask Resolution for each row, in the order of the fields")
    }
}

/// All of a store as it was at one moment: no later write shows in it, and it holds up no writer.
struct View {}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        todo!("how much there is")
    }

    async fn pets(&mut self, _after: Option<PetId>, _limit: u32) -> Result<Vec<Pet>, StoreError> {
        todo!("animals above `after`, ascending")
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        todo!("every key, ascending")
    }

    async fn idempotency_records(
        &mut self,
        _after: Option<IdempotencyId>,
        _limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        todo!("records above `after`, ascending by the bytes of their ids")
    }
}
