//! Opens the store that a command works on, and closes it however the work ends.

use petstore_domain::{Archive, StoreCounts};

use crate::{
    stores::driver::{OpenMode, OpenStore, StoreLocation},
    system::{
        console::{Console, Output as _},
        failure::Failure,
    },
};

/// Opens a store, lets `work` use it, and closes it, also when the work fails. If opening has made the store, the command
/// says so: the URL may be mistyped. A store that was made for work that has failed is removed again, if nothing is in
/// it.
pub(crate) async fn with_store<T>(
    location: &dyn StoreLocation,
    mode: OpenMode,
    work: impl AsyncFnOnce(&OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let store = location.open(mode).await.map_err(Failure::of_store)?;
    if let Some(place) = &store.made_at {
        Console.note(&format!("made a new store: {place}"));
    }
    let done = work(&store).await;
    let is_of_no_use = done.is_err() && store.made_at.is_some() && is_empty(&store).await;
    store.close().await;
    if is_of_no_use && let Err(problem) = location.remove().await {
        tracing::warn!(%location, %problem, "a new store without any data stays");
    }
    done
}

/// Does the same for work on the whole of a store, which needs an archive.
pub(crate) async fn with_archive<T>(
    location: &dyn StoreLocation,
    mode: OpenMode,
    work: impl AsyncFnOnce(&OpenStore, &dyn Archive) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_store(location, mode, async |store| {
        let archive = store.archive.as_deref().ok_or_else(|| {
            Failure::runtime(format!(
                "{location} has no archive, so it cannot be copied, verified, exported or imported \
                 into"
            ))
        })?;
        work(store, archive).await
    })
    .await
}

async fn is_empty(store: &OpenStore) -> bool {
    let Some(archive) = &store.archive else { return false };
    let counts = async { archive.snapshot().await?.counts().await };
    counts.await.is_ok_and(|counts| counts == StoreCounts::default())
}

#[cfg(test)]
mod tests {
    use std::{
        fmt,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use async_trait::async_trait;
    use petstore_memory::MemoryStore;

    use super::{with_archive, with_store};
    use crate::{
        stores::driver::{OpenMode, OpenStore, Problem, StoreLocation},
        system::failure::Failure,
    };

    /// A store without an archive that notes that it was closed.
    #[derive(Default)]
    struct Noting(Arc<AtomicBool>);

    impl fmt::Display for Noting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("noting:")
        }
    }

    #[async_trait]
    impl StoreLocation for Noting {
        async fn open(&self, _: OpenMode) -> Result<OpenStore, Problem> {
            let closed = self.0.clone();
            let store = OpenStore::new(Arc::new(MemoryStore::new()));
            Ok(store.with_close(async move { closed.store(true, Ordering::Relaxed) }))
        }
    }

    #[tokio::test]
    async fn a_store_is_closed_also_when_the_work_on_it_fails() {
        for fails in [false, true] {
            let location = Noting::default();
            let done = with_store(&location, OpenMode::Create, async |_| {
                assert!(!location.0.load(Ordering::Relaxed));
                if fails { Err(Failure::runtime("early")) } else { Ok(()) }
            });
            assert_eq!(done.await.is_err(), fails);
            assert!(location.0.load(Ordering::Relaxed));
        }
    }

    #[tokio::test]
    async fn a_store_without_an_archive_is_not_moved_and_is_closed() {
        let location = Noting::default();
        let moved = with_archive(&location, OpenMode::Create, async |_, _| Ok(()));
        let refusal = moved.await.unwrap_err().to_string();
        assert!(refusal.starts_with("noting: has no archive, so it cannot be copied"), "{refusal}");
        assert!(location.0.load(Ordering::Relaxed));
    }
}
