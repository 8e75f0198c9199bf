//! The store as a whole, for `store copy`, `store verify`, `export` and `import`, and its state, for `store move`.
//! Remove a port if you do not need its commands.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, Handover, HighestIds, IdempotencyRecord, IdempotencyRequest,
    NewPet, Pet, PetId, RecordPosition, Rows, Snapshot, StoreCounts, StoreError, StoreState,
    WriterRole,
};

use crate::store::MyStore;

#[async_trait]
impl Archive for MyStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(MySnapshot {}))
    }

    async fn write_rows(&self, _writer: WriterRole, _rows: Rows) -> Result<u64, ArchiveError> {
        todo!("one transaction: permit_write, Resolution for each row, the highest ids")
    }

    async fn add_new(
        &self,
        _pets: Vec<NewPet>,
        _request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        todo!("one transaction: permit_write, Resolution::of_new_pets, then add each animal")
    }
}

/// The content of the store at one moment. No later write shows in a snapshot, and a snapshot blocks no writer.
struct MySnapshot {}

#[async_trait]
impl Snapshot for MySnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        todo!("the number of rows of each kind")
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        todo!("the highest identifiers ever assigned or stored, also of rows that are gone")
    }

    async fn pets(&mut self, _after: Option<PetId>, _limit: u32) -> Result<Vec<Pet>, StoreError> {
        todo!("animals above `after`, ascending")
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        todo!("every key, ascending")
    }

    async fn records(
        &mut self,
        _after: Option<RecordPosition>,
        _limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        todo!("records after `after`, ascending by animal, then by the bytes of their ids")
    }
}

#[async_trait]
impl Handover for MyStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        todo!("the state, which is stored with the rows")
    }

    async fn change_state(&self, _expected: i64, _new: StoreState) -> Result<bool, StoreError> {
        todo!("one transaction, in order with all writes: compare the revision, replace all but `rewrites`")
    }
}
