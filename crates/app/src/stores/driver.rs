//! The extension point for stores: a kind of store ([`StoreDriver`]), the location of one store ([`StoreLocation`]),
//! and an open store ([`OpenStore`]).

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
use petstore_domain::{Archive, Handover, KeyStore, PetRepository};
use petstore_http::{Sample, SampleSource};
use petstore_storage::{Finding, Upgrade, UpgradeMode};
use petstore_transfer::{CopyPorts, StorePorts};
use tokio::{task, time};
use tokio_util::sync::CancellationToken;

use crate::system::Failure;

/// The time limit for closing a store. Acknowledged writes are durable already, so an aborted close loses none.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which closing checks whether the store is still in use.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The error of a store: one line for the user of the command, without a password.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A kind of store, registered under its URL schemes by [`App::with_store`](crate::App::with_store).
#[derive(Clone, Copy, Debug)]
pub struct StoreDriver {
    /// The URL schemes without the colon, the usual one first: for example `["sqlite"]`.
    pub schemes: &'static [&'static str],
    /// The form of a URL, for example `sqlite:PATH`, for `--help` and error messages.
    pub usage: &'static str,
    /// A description in a few words, which follows [`usage`](Self::usage) in `--help`.
    pub summary: &'static str,
    /// `true` if the data outlasts the process. Only `serve` accepts a store whose data does not.
    pub is_persistent: bool,
    /// Parses a URL with one of the [`schemes`](Self::schemes), without opening anything.
    ///
    /// The error is one line that names the right form. The error repeats no part of the URL that may be a password.
    pub parse: fn(&str) -> Result<Arc<dyn StoreLocation>, BoxError>,
}

/// The location of one store, parsed from its URL. Its methods open, upgrade, examine and back up the store.
///
/// `Display` shows the URL without its password. Two locations are the same store if they show the same URL or have
/// the same [`identity`](Self::identity). petstore copies no store to itself.
#[async_trait]
pub trait StoreLocation: fmt::Display + Send + Sync + 'static {
    /// Opens the store.
    ///
    /// # Errors
    /// One line that says what is wrong and how to correct it, without a password.
    /// - [`StoreNotFound`] if there is no store and `options.mode` does not create one.
    /// - [`StoreError::Unavailable`](petstore_domain::StoreError::Unavailable) if a later attempt may succeed: `serve`
    ///   retries, and answers 503 meanwhile.
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError>;

    /// Upgrades the schema of the store to this release, or reports what an upgrade would do. Returns `None`
    /// if there is no store yet.
    ///
    /// `serve` calls this method before it opens the store, except with `--no-upgrade`. No other command upgrades by
    /// itself, so [`open`](Self::open) refuses an older schema. By default, there is no schema and nothing to upgrade.
    ///
    /// # Errors
    /// One line that says why the store cannot be upgraded. Completed steps stay.
    async fn upgrade(&self, _mode: UpgradeMode) -> Result<Option<Upgrade>, BoxError> {
        Ok(Some(Upgrade { from: 1, steps: Vec::new(), saved_to: None }))
    }

    /// Returns a text that identifies this store under any of its URLs, for example the device and the inode of
    /// its file. Returns `None`, the default, if there is no store or it cannot be identified.
    async fn identity(&self) -> Option<String> {
        None
    }

    /// Returns the path of the file for the API key that `serve` creates at its first start without a terminal.
    /// With `None`, the default, `serve` creates no key then.
    fn first_key_path(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the path that the command `restore` copies a SQLite backup to. With `None`, the default, `restore`
    /// opens the store and fills it through its ports. `serve` refuses to start if the folder of this path is missing.
    fn restore_path(&self) -> Option<PathBuf> {
        None
    }

    /// Examines parts that only this kind of store has: settings, schema, indexes. The command `check` also reads every
    /// animal and every API key through the ports. The default finds nothing.
    ///
    /// A finding of severity [`Error`](petstore_storage::Severity::Error) with the subject `integrity` means that rows
    /// may be missing or wrong: `export`, `store copy`, `store move` and `store verify` then refuse the store.
    ///
    /// # Errors
    /// One line that says why the store cannot be examined.
    async fn inspect(&self) -> Result<Vec<Finding>, BoxError> {
        Ok(Vec::new())
    }

    /// Writes a copy of the store at one moment to `to`, for the command `backup`. The default refuses.
    ///
    /// `to` is an empty file beside the requested one. After this method, the command syncs `to` and renames it to the
    /// requested name. The copy blocks no writer of the store and is read back before this method returns. A store with
    /// an older schema is copied unchanged.
    ///
    /// # Errors
    /// One line that says what failed, or how to back up this kind of store instead. Any error if `on_progress` breaks.
    async fn back_up(&self, _to: &Path, _on_progress: OnBackupProgress) -> Result<(), BoxError> {
        Err("this kind of store has no backup; 'petstore export' writes its animals down".into())
    }
}

/// Receives the progress of a backup: the number of copied parts, and the number of all parts. Returns whether to
/// continue.
pub type OnBackupProgress = Box<dyn FnMut(u64, u64) -> ControlFlow<()> + Send>;

/// How to open a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The purpose of the handle.
    pub mode: OpenMode,
    /// `true` if reads of a sealed store succeed, without a version, instead of failing with
    /// [`StoreError::Sealed`](petstore_domain::StoreError::Sealed). Only `serve --next-store` sets it.
    pub reads_while_sealed: bool,
}

impl OpenOptions {
    /// Creates options with `mode` that refuse reads of a sealed store.
    #[must_use]
    pub const fn new(mode: OpenMode) -> Self {
        Self { mode, reads_while_sealed: false }
    }

    /// Sets whether reads of a sealed store succeed.
    #[must_use]
    pub const fn reads_while_sealed(self, reads_while_sealed: bool) -> Self {
        Self { reads_while_sealed, ..self }
    }
}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To read and write. Creates an empty store if there is none.
    Create,
    /// To read and write. Fails with [`StoreNotFound`] if there is no store.
    ReadWrite,
    /// Only to read, perhaps from a read-only disk. Changes nothing, not even a setting of the store. Fails with
    /// [`StoreNotFound`] if there is no store.
    ReadOnly,
}

impl From<OpenMode> for OpenOptions {
    fn from(mode: OpenMode) -> Self {
        Self::new(mode)
    }
}

/// The error of opening a store that does not exist yet. The command adds how to create it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreNotFound(String);

impl StoreNotFound {
    /// Creates the error from one line that says where no store was found.
    pub fn new(line: impl fmt::Display) -> Self {
        Self(line.to_string())
    }
}

/// The ports of an open store, and how to close it.
pub struct OpenStore {
    pub(crate) pets: Arc<dyn PetRepository>,
    pub(crate) keys: Arc<dyn KeyStore>,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    pub(crate) handover: Option<Arc<dyn Handover>>,
    /// The place of the store if opening has created the store.
    pub(crate) created_at: Option<String>,
    pub(crate) samples: SampleSource,
    /// Canceled when a task or thread of the store has panicked.
    pub(crate) panicked: CancellationToken,
    /// `Mutex` only to be `Sync`; never contended.
    close: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl OpenStore {
    /// Creates a store without an archive. Dropping the store closes it. `serve`, `keys` and `check` accept such a
    /// store. `export`, `import` and the `store` commands refuse it.
    pub fn new<S: PetRepository + KeyStore + 'static>(store: Arc<S>) -> Self {
        let pets = store.clone();
        let (archive, handover, created_at, close) = (None, None, None, Mutex::default());
        let (samples, panicked) = (Arc::new(Vec::new), CancellationToken::new());
        Self { pets, keys: store, archive, handover, created_at, samples, panicked, close }
    }

    /// Adds the archive of the same store.
    #[must_use]
    pub fn with_archive(self, archive: Arc<dyn Archive>) -> Self {
        Self { archive: Some(archive), ..self }
    }

    /// Adds the handover port of the same store. Without it, `store move` refuses the store, `store copy` needs
    /// a time without writes, and nothing marks an incomplete copy.
    #[must_use]
    pub fn with_handover(self, handover: Arc<dyn Handover>) -> Self {
        Self { handover: Some(handover), ..self }
    }

    /// Returns the ports of the store for a handover.
    ///
    /// # Errors
    /// One line if the store lacks an archive or the handover port.
    pub(crate) fn ports(&self, location: &dyn StoreLocation) -> Result<StorePorts, Failure> {
        let (pets, keys, label) = (self.pets.clone(), self.keys.clone(), location.to_string());
        let (Some(archive), Some(handover)) = (self.archive.clone(), self.handover.clone()) else {
            let why = format!("{label} cannot be handed over: copy it with 'store copy'");
            return Err(Failure::Runtime(why));
        };
        Ok(StorePorts { pets, keys, archive, handover, label })
    }

    /// Returns the ports of the store for a copy.
    ///
    /// # Errors
    /// One line if the store lacks an archive.
    pub(crate) fn copy_ports(
        &self,
        location: &dyn StoreLocation,
    ) -> Result<CopyPorts<'_>, Failure> {
        let archive = self.archive.as_deref().ok_or_else(|| {
            Failure::runtime(format!(
                "{location} has no archive, so it cannot be copied, verified, exported or imported \
                 into"
            ))
        })?;
        Ok(CopyPorts { archive, handover: self.handover.as_deref() })
    }

    /// Refuses a store that was handed over or is being filled.
    ///
    /// # Errors
    /// One line that names the store to which this store was handed over, or the commands that continue to fill it.
    pub(crate) async fn require_open(&self, location: &dyn StoreLocation) -> Result<(), Failure> {
        let Some(handover) = &self.handover else { return Ok(()) };
        let phase = handover.state().await.map_err(Failure::of_store)?.phase;
        phase.refusal().map_or(Ok(()), |why| Err(Failure::runtime(format!("{location} {why}"))))
    }

    /// Records that opening created this store, at `place`: its full URL, for example with an absolute path. Commands
    /// print `place`, because the URL may be mistyped.
    #[must_use]
    pub fn newly_created(self, place: impl fmt::Display) -> Self {
        Self { created_at: Some(place.to_string()), ..self }
    }

    /// Adds samples to the metrics, for example the number of waiting writes.
    ///
    /// Each scrape calls `samples`, which must not block. The closure must not keep the store open: it holds a
    /// [`Weak`](std::sync::Weak).
    #[must_use]
    pub fn with_samples(self, samples: impl Fn() -> Vec<Sample> + Send + Sync + 'static) -> Self {
        Self { samples: Arc::new(samples), ..self }
    }

    /// Adds a token that the store cancels when a task or thread that it needs has panicked. `serve` then ends with a
    /// failure, so that its supervisor restarts it.
    #[must_use]
    pub fn with_panic_token(self, panicked: CancellationToken) -> Self {
        Self { panicked, ..self }
    }

    /// Adds a future that runs before the store is dropped, for work that a destructor cannot await. Every command,
    /// also one that fails, awaits the future for up to 5 seconds.
    #[must_use]
    pub fn with_close(self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { close: Mutex::new(Some(Box::pin(close))), ..self }
    }

    /// Closes the store and waits until nothing uses it. After [`CLOSE_TIMEOUT`], the store closes with the process.
    pub(crate) async fn close(mut self) {
        let close = async {
            if let Ok(Some(close)) = self.close.get_mut().map(Option::take) {
                close.await;
            }
            let used = Arc::downgrade(&self.pets);
            // Dropping the store waits for the disk, so it runs on a blocking thread.
            let _ = task::spawn_blocking(|| drop(self)).await;
            while used.strong_count() > 0 {
                time::sleep(POLL_INTERVAL).await;
            }
        };
        if time::timeout(CLOSE_TIMEOUT, close).await.is_err() {
            tracing::warn!("a store took too long to close; nothing acknowledged is lost");
        }
    }
}

impl fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStore").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{future, sync::Arc};

    use petstore_memory::MemoryStore;
    use tokio::time::{Instant, timeout};

    use super::{CLOSE_TIMEOUT, OpenStore};

    #[tokio::test(start_paused = true)]
    async fn closing_waits_for_users_of_the_store_up_to_the_time_limit() {
        let open = || {
            let store = Arc::new(MemoryStore::new());
            let opened = OpenStore::new(store.clone()).with_archive(store.clone());
            opened.with_close(async move { drop(store) })
        };
        let began = Instant::now();
        open().close().await;
        assert!(began.elapsed() < CLOSE_TIMEOUT);

        let store = open();
        let used = Arc::clone(&store.pets);
        store.close().await;
        assert!((CLOSE_TIMEOUT..2 * CLOSE_TIMEOUT).contains(&began.elapsed()));
        drop(used);
        let store = open().with_close(future::pending());
        timeout(2 * CLOSE_TIMEOUT, store.close()).await.unwrap();
    }
}
