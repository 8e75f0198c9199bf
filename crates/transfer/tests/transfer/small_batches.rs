//! Stores that accept only few rows in one call.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{
    Archive, ArchiveError, IdempotencyRequest, NewPet, Rows, Snapshot, StoreError, WriterRole,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{CopyPorts, StorePorts};

use crate::{
    pair::{hand_over, side},
    stores::{START, add, held, id, key, store},
};

const MAX: usize = 6;

struct Small(Arc<MemoryStore>);

#[async_trait]
impl Archive for Small {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.0.snapshot().await
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let count = rows.pets.len() + rows.keys.len() + rows.records.len();
        assert!(count <= MAX, "{count} rows in one call");
        self.0.write_rows(writer, rows).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        self.0.add_new(pets, request).await
    }

    fn max_batch(&self) -> usize {
        MAX
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_is_copied_and_handed_over_to_a_store_with_small_batches() {
    let (from, copied, moved) = (store(), store(), store());
    for number in 0..40 {
        let request = (number % 3 > 0).then(|| (id(number), START));
        add(&from, &format!("Rex {number}"), request).await;
    }
    for seed in 1..=15 {
        key(&from, seed, &format!("key-{seed}")).await;
    }
    let small = Small(copied.clone());
    let mut go_on = |_| ControlFlow::Continue(());
    let ends =
        [&*from as &dyn Archive, &small].map(|archive| CopyPorts { archive, handover: None });
    petstore_transfer::copy(ends[0], ends[1], START, &mut go_on).await.unwrap();
    assert_eq!(held(&*from).await, held(&*copied).await);

    let to = StorePorts { archive: Arc::new(Small(moved.clone())), ..side(&moved, None, "new") };
    hand_over(&side(&from, None, "old"), &to).await.unwrap();
    assert_eq!(held(&*from).await, held(&*moved).await);
}
