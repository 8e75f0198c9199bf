//! A store while it is open.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use petstore_domain::{ApiKeyRepository, Archive, PetRepository, Relocatable};
use petstore_http::{Figure, Figures};
use petstore_relocation::Side;
use tokio::{task, time};

/// How long closing may take. All that was acknowledged is durable before, so nothing is lost.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often closing checks whether the store is still in use.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The ports of an open store, and how it is closed.
pub struct OpenStore {
    pub(crate) pets: Arc<dyn PetRepository>,
    pub(crate) keys: Arc<dyn ApiKeyRepository>,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    /// What a move to another store needs.
    pub(crate) relocation: Option<Arc<dyn Relocatable>>,
    /// Where the store is, if opening it has made it.
    pub(crate) made_at: Option<String>,
    /// What it says of itself among the metrics.
    pub(crate) figures: Figures,
    close: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl OpenStore {
    /// A store without an archive, which closes when it is dropped. It can be served and its keys
    /// managed, but it cannot be copied, verified, exported or imported into.
    pub fn new<S: PetRepository + ApiKeyRepository + 'static>(store: Arc<S>) -> Self {
        let pets = store.clone();
        let (archive, relocation, made_at, close) = (None, None, None, None);
        let figures = Arc::new(Vec::new);
        Self { pets, keys: store, archive, relocation, made_at, figures, close }
    }

    /// With an archive of the same store.
    #[must_use]
    pub fn with_archive(self, archive: Arc<dyn Archive>) -> Self {
        Self { archive: Some(archive), ..self }
    }

    /// With what a move of the same store needs. Without it, the store can be copied while nothing writes, but
    /// it takes no part in `store move`.
    #[must_use]
    pub fn with_relocation(self, relocation: Arc<dyn Relocatable>) -> Self {
        Self { relocation: Some(relocation), ..self }
    }

    /// The store as one side of a move, if it can be moved.
    pub(crate) fn side(&self) -> Option<Side> {
        let relocation = self.relocation.clone()?;
        Some(Side { pets: self.pets.clone(), keys: self.keys.clone(), relocation })
    }

    /// Notes that opening has made this store, and where it is in full, for example with its absolute
    /// path. Commands say so: the URL may be mistyped.
    #[must_use]
    pub fn made_at(self, place: impl fmt::Display) -> Self {
        Self { made_at: Some(place.to_string()), ..self }
    }

    /// With values that are served among the metrics, for example how many writes wait. They are read
    /// each time that the metrics are, so that must not wait. What is passed must not keep the store
    /// open: it holds a [`Weak`](std::sync::Weak).
    #[must_use]
    pub fn with_figures(self, figures: impl Fn() -> Vec<Figure> + Send + Sync + 'static) -> Self {
        Self { figures: Arc::new(figures), ..self }
    }

    /// With work to be waited for before the store is dropped: for what a destructor cannot wait
    /// for. All commands do this work, also those that fail; it may take 5 seconds.
    #[must_use]
    pub fn with_close(self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { close: Some(Box::pin(close)), ..self }
    }

    /// How many handles of the store there are, its own included.
    pub(crate) fn handles(&self) -> usize {
        let archive = self.archive.as_ref().map_or(0, Arc::strong_count);
        let relocation = self.relocation.as_ref().map_or(0, Arc::strong_count);
        Arc::strong_count(&self.pets) + Arc::strong_count(&self.keys) + archive + relocation
    }

    /// Closes the store once it has no more than `own` handles: those that it had when it was opened.
    /// `false` if that took too long; it then closes with the process.
    pub(crate) async fn close(mut self, own: usize) -> bool {
        let close = async {
            while self.handles() > own {
                time::sleep(POLL_INTERVAL).await;
            }
            if let Some(close) = self.close.take() {
                close.await;
            }
            // Waits for the disk, so not on a thread that others need.
            task::spawn_blocking(|| drop(self)).await.is_ok()
        };
        time::timeout(CLOSE_TIMEOUT, close).await.unwrap_or(false)
    }
}

impl fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStore").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use petstore_memory::MemoryStore;

    use super::OpenStore;

    #[tokio::test(start_paused = true)]
    async fn closing_waits_for_whoever_still_uses_the_store_but_not_for_ever() {
        let open = || {
            let store = Arc::new(MemoryStore::new());
            let opened = OpenStore::new(store.clone()).with_archive(store.clone());
            opened.with_close(async move { drop(store) })
        };
        let store = open();
        let own = store.handles();
        assert!(store.close(own).await);

        let store = open();
        let own = store.handles();
        let used = Arc::clone(&store.pets);
        assert!(!store.close(own).await);
        drop(used);
    }

    #[tokio::test]
    async fn closing_does_the_work_of_closing() {
        let closed = Arc::new(AtomicBool::new(false));
        let flag = closed.clone();
        let store = OpenStore::new(Arc::new(MemoryStore::new()))
            .with_close(async move { flag.store(true, Ordering::Relaxed) });
        let own = store.handles();
        assert!(store.close(own).await);
        assert!(closed.load(Ordering::Relaxed));
    }
}
