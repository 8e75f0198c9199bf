//! What a kind of store says about itself, so that every command works on it, and a store while it is open.

use std::{
    error::Error,
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{Archive, Finding, Handover, KeyStore, PetRepository, Upgrade, UpgradeMode};
use petstore_http::{Figure, Figures};
use petstore_transfer::Side;
use tokio::{task, time};
use tokio_util::sync::CancellationToken;

use crate::system::failure::Failure;

/// Limits the time that closing takes. All that was acknowledged is durable before, so nothing is lost.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which closing checks whether the store is still in use.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Why a store could not do what it was asked: one line for the user of the command.
pub type Problem = Box<dyn Error + Send + Sync>;

/// A kind of store, registered under its URL schemes by [`App::with_store`](crate::App::with_store).
#[derive(Clone, Copy, Debug)]
pub struct StoreDriver {
    /// The schemes of its URLs without the colon, the usual one first: for example `["sqlite"]`.
    pub schemes: &'static [&'static str],
    /// How a URL is written, for example `sqlite:PATH`. Shown by `--help` and where a URL is refused.
    pub usage: &'static str,
    /// What the store is, in a few words that follow the usage in `--help`.
    pub summary: &'static str,
    /// Whether the data outlasts the process. The commands that end at once (`keys`, `store`, `import`, `export`)
    /// refuse a store that does not.
    pub is_lasting: bool,
    /// Reads a URL whose scheme is one of [`schemes`](Self::schemes), without opening anything. The error is one
    /// line that says what would be right. It repeats nothing that may be a password; a command never quotes the
    /// URL itself.
    pub parse: fn(&str) -> Result<Arc<dyn StoreLocation>, Problem>,
}

/// Where one store is, as its URL says.
///
/// `Display` shows the URL without its password. Two locations that show alike are the same store, and
/// so are two of one [`identity`](Self::identity): nothing is copied from a store to itself.
#[async_trait]
pub trait StoreLocation: fmt::Display + Send + Sync + 'static {
    /// Opens the store.
    ///
    /// # Errors
    /// One line that says what is wrong and how to correct it, without a password. One that is a
    /// [`StoreError::Unavailable`](petstore_domain::StoreError::Unavailable) may pass: `serve` waits for it, and
    /// answers 503 meanwhile.
    async fn open(&self, mode: OpenMode) -> Result<OpenStore, Problem>;

    /// Brings the schema of the store to that of this release, or says what that would do. `None` if there
    /// is no store yet. `serve` calls it before it opens the store; no other command upgrades by itself, so
    /// [`open`](Self::open) refuses an older schema. By default, there is no schema.
    ///
    /// # Errors
    /// One line that says why the store cannot be upgraded; it is then as before, or after one of the steps.
    async fn upgrade(&self, _mode: UpgradeMode) -> Result<Option<Upgrade>, Problem> {
        Ok(Some(Upgrade { from: 1, steps: Vec::new(), saved_to: None }))
    }

    /// Returns what identifies this store however its URL is spelled, for example the device and the inode of its
    /// file. `None` for a store that is not there, or of which this cannot be told, which is the default.
    async fn identity(&self) -> Option<String> {
        None
    }

    /// Removes the store, which the command that has failed had made a moment ago: it is closed, and nothing
    /// is in it. By default it stays.
    ///
    /// # Errors
    /// One line that says why it stays.
    async fn remove(&self) -> Result<(), Problem> {
        Ok(())
    }

    /// Returns the file beside the store for the API key that a service makes at its first start, where it has no
    /// terminal to show it on. By default there is none, and no key is made there.
    fn key_file(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the file that the store is, where it is one of the form in which [`back_up`](Self::back_up) of a SQLite
    /// store writes it: the command `restore` puts the copy of a backup there. By default, there is none, and a
    /// backup is handed over to the store.
    fn file(&self) -> Option<PathBuf> {
        None
    }

    /// Examines what only this kind of store knows of itself, for the command `check`: its settings, its
    /// schema, its indexes. The command itself reads every animal and every API key through the ports. By
    /// default, nothing else is known.
    ///
    /// # Errors
    /// One line that says why the store cannot be examined.
    async fn inspect(&self) -> Result<Vec<Finding>, Problem> {
        Ok(Vec::new())
    }

    /// Writes a copy of the store, as it is at one moment, for the command `backup`. `to` is an empty file
    /// beside the one that is asked for; the command makes it durable and gives it its name. The copy must
    /// hold up no writer of the store, and must have been read again. A store of an older schema is copied as
    /// it is. By default, there is no backup.
    ///
    /// # Errors
    /// One line that says what failed, or how a backup of this kind of store is made instead. When `watch`
    /// asks for a stop, any error.
    async fn back_up(&self, _to: &Path, _watch: BackupWatch) -> Result<(), Problem> {
        Err("this kind of store has no backup; 'petstore export' writes its animals down".into())
    }
}

/// Called by a backup from time to time, with how many parts are done, of how many. It answers whether to
/// go on.
pub type BackupWatch = Box<dyn FnMut(u64, u64) -> ControlFlow<()> + Send>;

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To be read and written; an empty store is created where there is none.
    Create,
    /// To be read and written. Where there is none, opening fails, and nothing is created.
    ReadWrite,
    /// Only to be read, perhaps from a disk that is read-only. Nothing is changed, not even a setting of the
    /// store. Where there is none, opening fails.
    ReadOnly,
}

/// The ports of an open store, and how it is closed.
pub struct OpenStore {
    pub(crate) pets: Arc<dyn PetRepository>,
    pub(crate) keys: Arc<dyn KeyStore>,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    /// What handing it over to another store needs.
    pub(crate) handover: Option<Arc<dyn Handover>>,
    /// Where the store is, if opening it has made it.
    pub(crate) made_at: Option<String>,
    /// What it says of itself among the metrics.
    pub(crate) figures: Figures,
    /// Canceled when one of its tasks or threads has panicked.
    pub(crate) panicked: CancellationToken,
    /// Nobody waits for the lock: it makes the store one that tasks can share.
    close: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl OpenStore {
    /// Creates a store without an archive, which closes when it is dropped. It can be served and its keys
    /// managed, but it cannot be copied, verified, exported or imported into.
    pub fn new<S: PetRepository + KeyStore + 'static>(store: Arc<S>) -> Self {
        let pets = store.clone();
        let (archive, handover, made_at, close) = (None, None, None, Mutex::default());
        let (figures, panicked) = (Arc::new(Vec::new), CancellationToken::new());
        Self { pets, keys: store, archive, handover, made_at, figures, panicked, close }
    }

    /// Adds an archive of the same store.
    #[must_use]
    pub fn with_archive(self, archive: Arc<dyn Archive>) -> Self {
        Self { archive: Some(archive), ..self }
    }

    /// Adds what handing the same store over needs. Without it, the store can be copied while nothing writes, but
    /// not be handed over.
    #[must_use]
    pub fn with_handover(self, handover: Arc<dyn Handover>) -> Self {
        Self { handover: Some(handover), ..self }
    }

    /// Returns the store as one of two, if it can be handed over.
    ///
    /// # Errors
    /// One line that says so.
    pub(crate) fn side(&self, location: &dyn StoreLocation) -> Result<Side, String> {
        let label = location.to_string();
        let (Some(archive), Some(handover)) = (self.archive.clone(), self.handover.clone()) else {
            return Err(format!("{label} cannot be handed over: copy it with 'store copy'"));
        };
        Ok(Side { pets: self.pets.clone(), keys: self.keys.clone(), archive, handover, label })
    }

    /// Refuses a store that was handed over to another one, or that is being filled.
    ///
    /// # Errors
    /// One line that says where it was handed over to.
    pub(crate) async fn require_open(&self, location: &dyn StoreLocation) -> Result<(), Failure> {
        let Some(handover) = &self.handover else { return Ok(()) };
        let phase = handover.state().await.map_err(Failure::of_store)?.phase;
        phase.refusal().map_or(Ok(()), |why| Err(Failure::runtime(format!("{location} {why}"))))
    }

    /// Notes that opening has made this store, and where it is in full, for example with its absolute
    /// path. Commands say so: the URL may be mistyped.
    #[must_use]
    pub fn made_at(self, place: impl fmt::Display) -> Self {
        Self { made_at: Some(place.to_string()), ..self }
    }

    /// Adds values that are served among the metrics, for example how many writes wait. They are read
    /// each time that the metrics are, so that must not wait. What is passed must not keep the store
    /// open: it holds a [`Weak`](std::sync::Weak).
    #[must_use]
    pub fn with_figures(self, figures: impl Fn() -> Vec<Figure> + Send + Sync + 'static) -> Self {
        Self { figures: Arc::new(figures), ..self }
    }

    /// Adds a token that is canceled when a task or thread that the store cannot go on without has panicked.
    /// `serve` then ends with a failure, and whoever supervises the process starts it again.
    #[must_use]
    pub fn with_panicked(self, panicked: CancellationToken) -> Self {
        Self { panicked, ..self }
    }

    /// Adds work to be waited for before the store is dropped: for what a destructor cannot wait
    /// for. All commands do this work, also those that fail; it may take 5 seconds.
    #[must_use]
    pub fn with_close(self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { close: Mutex::new(Some(Box::pin(close))), ..self }
    }

    /// Closes the store, and waits until nobody uses it any more. `false` if that took too long; it then closes with the
    /// process.
    pub(crate) async fn close(mut self) -> bool {
        let close = async {
            if let Ok(Some(close)) = self.close.get_mut().map(Option::take) {
                close.await;
            }
            let used = Arc::downgrade(&self.pets);
            // Waits for the disk, so not on a thread that others need.
            let closed = task::spawn_blocking(|| drop(self)).await.is_ok();
            while used.strong_count() > 0 {
                time::sleep(POLL_INTERVAL).await;
            }
            closed
        };
        let closed = time::timeout(CLOSE_TIMEOUT, close).await.unwrap_or(false);
        if !closed {
            tracing::warn!("a store took too long to close; nothing acknowledged is lost");
        }
        closed
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
        assert!(open().close().await);

        let store = open();
        let used = Arc::clone(&store.pets);
        assert!(!store.close().await);
        drop(used);
    }

    #[tokio::test]
    async fn closing_does_the_work_of_closing() {
        let closed = Arc::new(AtomicBool::new(false));
        let flag = closed.clone();
        let store = OpenStore::new(Arc::new(MemoryStore::new()))
            .with_close(async move { flag.store(true, Ordering::Relaxed) });
        assert!(store.close().await);
        assert!(closed.load(Ordering::Relaxed));
    }
}
