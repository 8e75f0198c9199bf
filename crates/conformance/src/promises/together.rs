//! An animal and its idempotency record: one transaction.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use petstore_domain::StoreCounts;
use tokio::task::JoinSet;

use crate::{
    broken::{Checked, ensure},
    fresh::{archive, created, join},
    harness::Store,
    samples::{self, request},
};

/// Tasks that add animals.
const WRITERS: usize = 4;
/// Animals that each of them adds.
const EACH: usize = 150;
/// Tasks that take snapshots meanwhile.
const WATCHERS: usize = 2;
/// Snapshots that each of them takes.
const MAX_SNAPSHOTS: usize = 150;

/// Contract: adds an animal and, in the same transaction, its idempotency record.
///
/// Every animal here is added with a record. So a snapshot that holds more of the one than of the
/// other was taken between two transactions.
pub(super) async fn an_animal_and_its_record_appear_together(store: Store) -> Checked {
    let done = Arc::new(AtomicBool::new(false));
    let (mut writers, mut watchers) = (JoinSet::new(), JoinSet::new());
    for writer in 0..WRITERS {
        writers.spawn(add(store.clone(), writer * EACH));
    }
    // Behind the writers: on one thread they run when each of those waits for something.
    for _ in 0..WATCHERS {
        watchers.spawn(watch(store.clone(), Arc::clone(&done)));
    }
    let written = join(writers).await;
    done.store(true, Ordering::SeqCst);
    join(watchers).await?;
    written.map(drop)
}

async fn add(store: Store, first: usize) -> Checked {
    for number in first..first + EACH {
        let pet = samples::numbered(number);
        let request = request(&format!("key-{number}"), &pet, 0);
        created(store.pets.add(pet, Some(request)).await?)?;
    }
    Ok(())
}

async fn watch(store: Store, done: Arc<AtomicBool>) -> Checked {
    for _ in 0..MAX_SNAPSHOTS {
        let counts = archive(&store)?.snapshot().await?.counts().await?;
        let StoreCounts { pets, idempotency_records: records, .. } = counts;
        ensure!(pets == records, "a snapshot holds {pets} animals, but {records} of their records");
        if done.load(Ordering::SeqCst) {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}
