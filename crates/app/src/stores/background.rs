//! The samples of a built-in store. Some samples need a query or a file system call, and no scrape may wait for them. A
//! background task reads these samples at most once a minute, and only while metrics are scraped.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use petstore_domain::{Archive, Handover, KeyStore, PetRepository};
use petstore_http::Sample;
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::driver::OpenStore;

/// The time between two reads.
const INTERVAL: Duration = Duration::from_mins(1);

/// Returns the open `store` with all of its ports. The function `activity` returns some of its samples at once, and
/// `measure` reads the other samples in the background. A closed store has no samples.
pub(super) fn with_all_ports<S, R>(
    store: &Arc<S>,
    panicked: CancellationToken,
    activity: fn(&S) -> Vec<Sample>,
    measure: impl Fn(Arc<S>) -> R + Send + Sync + 'static,
) -> OpenStore
where
    S: PetRepository + KeyStore + Archive + Handover + 'static,
    R: Future<Output = Vec<Sample>> + Send + 'static,
{
    let open = Arc::downgrade(store);
    let measured = in_background(open.clone(), measure);
    let samples = move || {
        let store = open.upgrade();
        store.map_or(Vec::new(), |store| [activity(&store), measured()].concat())
    };
    OpenStore::new(store.clone())
        .with_archive(store.clone())
        .with_handover(store.clone())
        .with_samples(samples)
        .with_panic_token(panicked)
}

/// Returns a function. Each call of the function returns the latest value and requests a new read of `store`. A request
/// during a read, or within [`INTERVAL`] after it, is ignored. Before the end of the first read, the value is the default.
/// Dropping the function aborts a running read.
fn in_background<S, T, R>(
    store: Weak<S>,
    read: impl Fn(Arc<S>) -> R + Send + Sync + 'static,
) -> impl Fn() -> T + Send + Sync
where
    S: Send + Sync + 'static,
    T: Clone + Default + Send + Sync + 'static,
    R: Future<Output = T> + Send + 'static,
{
    let (latest, asked) = (watch::Sender::new(T::default()), watch::Sender::new(()));
    let (newest, mut asks) = (latest.clone(), asked.subscribe());
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        while asks.changed().await.is_ok() {
            let Some(reading) = store.upgrade().map(&read) else { return };
            newest.send_replace(reading.await);
            sleep(INTERVAL).await;
            asks.mark_unchanged();
        }
    });
    move || {
        // The closure owns the `JoinSet`, which aborts its task when it is dropped.
        let _ = &reading;
        asked.send_replace(());
        latest.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use tokio::time::sleep;

    use super::{INTERVAL, in_background};

    #[tokio::test(start_paused = true)]
    async fn a_value_is_read_once_a_minute_and_only_on_request() {
        let reads = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&reads);
        let store = Arc::new(());
        let value = in_background(Arc::downgrade(&store), move |_| {
            let read = counted.fetch_add(1, Ordering::Relaxed);
            async move { (read < 2).then_some(read) }
        });
        for expected in [Some(0), Some(1), None] {
            let before = value();
            for _ in 0..10 {
                sleep(INTERVAL / 20).await;
                assert_eq!(value(), expected, "after {before:?}");
            }
            sleep(10 * INTERVAL).await;
        }
        assert_eq!(reads.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_read_blocks_further_reads_and_ends_with_its_owner() {
        let under_way = Arc::new(());
        let held = Arc::clone(&under_way);
        let store = Arc::new(());
        let value = in_background(Arc::downgrade(&store), move |_| {
            let held = Arc::clone(&held);
            async move {
                std::future::pending::<()>().await;
                drop(held);
                None::<u64>
            }
        });
        for _ in 0..5 {
            assert_eq!(value(), None);
            sleep(2 * INTERVAL).await;
        }
        assert_eq!(Arc::strong_count(&under_way), 3, "this test, the closure and one read");
        drop(value);
        sleep(INTERVAL).await;
        assert_eq!(Arc::strong_count(&under_way), 1);
    }
}
