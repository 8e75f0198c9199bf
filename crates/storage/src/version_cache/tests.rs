//! The version that the cache returns.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use petstore_domain::CatalogueVersion;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{MAX_AGE, StoredVersion, VersionCache, watch};

fn stored(version: u128, changes: i64) -> StoredVersion {
    StoredVersion { version: Some(CatalogueVersion(version)), changes }
}

#[test]
fn an_old_version_is_not_returned() {
    let cache = VersionCache::default();
    assert_eq!(cache.get(), None);
    let long_ago = Instant::now().checked_sub(Duration::from_millis(101)).unwrap();
    cache.observe(stored(1, 1), long_ago);
    assert_eq!(cache.get(), None);
    cache.observe(stored(1, 1), Instant::now());
    assert_eq!(cache.get(), Some(CatalogueVersion(1)));
}

#[test]
fn a_late_result_with_an_older_version_is_ignored() {
    let cache = VersionCache::default();
    let before = Instant::now().checked_sub(MAX_AGE + Duration::from_millis(1)).unwrap();
    cache.observe(stored(2, 2), Instant::now());
    cache.observe(stored(1, 1), before);
    assert_eq!(cache.get(), Some(CatalogueVersion(2)));
    cache.observe(stored(3, 3), before);
    assert_eq!(cache.get(), Some(CatalogueVersion(3)));
    // The second read began after the first one, and before its end.
    let began = Instant::now();
    thread::sleep(Duration::from_millis(2));
    cache.observe(stored(5, 5), began);
    cache.observe(stored(4, 4), began + Duration::from_millis(1));
    assert_eq!(cache.latest.read().unwrap().unwrap().stored, stored(5, 5));
}

#[test]
fn a_later_result_with_fewer_changes_is_accepted() {
    let cache = VersionCache::default();
    cache.observe(stored(9, 9), Instant::now());
    cache.observe(stored(4, 4), Instant::now());
    assert_eq!(cache.get(), Some(CatalogueVersion(4)));
    cache.observe(stored(5, 4), Instant::now());
    assert_eq!(cache.get(), Some(CatalogueVersion(5)));
}

#[tokio::test]
async fn the_version_is_not_read_while_nobody_asks_for_it() {
    let (cache, reads) = (Arc::<VersionCache>::default(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&reads);
    let read = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        future::ready(Some(stored(1, 1)))
    };
    let watching = tokio::spawn(watch(Arc::clone(&cache), read));
    cache.get();
    let ends = async {
        let mut before = 0;
        while before == 0 || before != reads.load(Ordering::SeqCst) {
            before = reads.load(Ordering::SeqCst);
            sleep(Duration::from_millis(500)).await;
        }
    };
    timeout(Duration::from_secs(20), ends).await.unwrap();
    watching.abort();
}

#[tokio::test]
async fn a_watched_version_is_as_old_as_the_start_of_its_read() {
    let cache = Arc::<VersionCache>::default();
    let (sender, mut known) = mpsc::unbounded_channel();
    let watched = Arc::clone(&cache);
    let read = move || {
        // Fails only if the test has ended.
        let _ = sender.send(watched.known());
        thread::sleep(MAX_AGE + Duration::from_millis(1));
        future::ready(Some(stored(1, 1)))
    };
    let watching = tokio::spawn(watch(Arc::clone(&cache), read));
    cache.get();
    let reads = async { [known.recv().await, known.recv().await] };
    assert_eq!(timeout(Duration::from_secs(20), reads).await.unwrap(), [Some(None); 2]);
    watching.abort();
}
