//! Reads that hang, more than there are workers, and reads that panic.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use petstore_domain::{PetId, StoreError};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{LIMIT, Place, begin, found, in_time};
use crate::{readers::watch::TICK, store::SqliteStore};

/// The largest number of reads at a time: one on one of the two workers, and one on each of sixteen threads.
const MOST: usize = 1 + 16;

/// Starts reads that run until the sender is dropped.
fn block(
    store: &Arc<SqliteStore>,
    count: usize,
    begun: &Arc<AtomicUsize>,
) -> (mpsc::Sender<()>, Vec<JoinHandle<Result<(), StoreError>>>) {
    let (release, released) = mpsc::channel();
    let (released, limit) = (Arc::new(Mutex::new(released)), Instant::now() + LIMIT);
    let reads = (0..count).map(|_| {
        let (store, begun, released) =
            (Arc::clone(store), Arc::clone(begun), Arc::clone(&released));
        tokio::spawn(async move {
            let read = move |_: &_| {
                begun.fetch_add(1, Ordering::SeqCst);
                // Fails once the sender is dropped. The limit frees a worker if all of them hang.
                let released = released.lock().unwrap();
                let _ = released.recv_timeout(limit.saturating_duration_since(Instant::now()));
                Ok(())
            };
            store.readers.read::<()>(read).await
        })
    });
    (release, reads.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_reads_occupy_sixteen_threads_and_all_workers_but_one() {
    let place = Place::new();
    let (store, begun) = (Arc::new(place.open()), Arc::<AtomicUsize>::default());
    let (release, reads) = block(&store, MOST + 7, &begun);
    in_time(async {
        while begun.load(Ordering::SeqCst) < MOST || store.activity().read_queue != 7 {
            sleep(TICK / 10).await;
        }
    })
    .await;
    sleep(TICK * 5).await;
    assert_eq!((begun.load(Ordering::SeqCst), store.activity().read_queue), (MOST, 7));
    // A queued read whose caller leaves does not run.
    let counted = Arc::clone(&begun);
    drop(begin(store.readers.read::<()>(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })));
    // The queue has a limit.
    let more: Vec<_> = (8..4096).map(|_| begin(store.readers.read(|_| Ok(())))).collect();
    let refusal = in_time(store.readers.read(|_| Ok(()))).await.unwrap_err().to_string();
    assert_eq!(refusal, "the store cannot answer: the disk is too slow (4096 reads wait)");
    drop(more);
    drop(release);
    for read in reads {
        in_time(read).await.unwrap().unwrap();
    }
    assert!(!found(&store, PetId(1)).await);
    assert_eq!(begun.load(Ordering::SeqCst), MOST + 7);
    let pool = &store.readers.shared.pool;
    assert_eq!(pool.idle().len(), pool.max_idle, "another number of connections stays open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_panics_fails_as_unavailable_and_later_reads_succeed() {
    let place = Place::new();
    let (store, begun) = (Arc::new(place.open()), Arc::default());
    for busy_workers in [0, 1] {
        let (release, _reads) = block(&store, busy_workers, &begun);
        in_time(async {
            while begun.load(Ordering::SeqCst) < busy_workers {
                sleep(TICK / 10).await;
            }
        })
        .await;
        // More reads panic than there may be threads.
        for _ in 0..=MOST {
            let failed = in_time(store.readers.read::<()>(|_| panic!("as asked"))).await;
            assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
        }
        assert!(!found(&store, PetId(1)).await);
        drop(release);
    }
}
