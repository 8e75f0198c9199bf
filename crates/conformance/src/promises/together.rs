//! An animal and its idempotency record: one transaction.

use petstore_domain::StoreCounts;
use tokio::task::JoinSet;

use crate::{
    broken::{Checked, ensure},
    fresh::{Fresh, archive, created, join},
    harness::{Harness, Store},
    samples::{self, request},
};

/// How often animals are added while snapshots are taken.
const ROUNDS: usize = 40;
/// Animals that are added at the same time.
const WRITERS: usize = 4;
/// Snapshots in one round.
const SNAPSHOTS: usize = 4;

/// Every animal here is added with a record. So a snapshot that holds more of the one than of the
/// other was taken between two transactions.
pub(super) async fn an_animal_and_its_record_appear_together(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    for round in 0..ROUNDS {
        let mut tasks = JoinSet::new();
        for writer in 0..WRITERS {
            tasks.spawn(add(store.clone(), round * WRITERS + writer));
        }
        // Behind the writers: on one thread it runs when each of them waits for something.
        tasks.spawn(watch(store.clone()));
        join(tasks).await?;
    }
    Ok(())
}

async fn watch(store: Store) -> Checked {
    for _ in 0..SNAPSHOTS {
        let counts = archive(&store)?.snapshot().await?.counts().await?;
        let StoreCounts { pets, idempotency_records: records, .. } = counts;
        ensure!(pets == records, "a snapshot holds {pets} animals, but {records} of their records");
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn add(store: Store, number: usize) -> Checked {
    let pet = samples::numbered(number);
    let request = request(&format!("key-{number}"), &pet, 0);
    created(store.pets.add(pet, Some(request)).await?).map(drop)
}
