//! What a kind of store says about itself, so that every command works on it.

use std::{
    error::Error,
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use petstore_domain::{Finding, Upgrade, UpgradeMode};

use crate::open_store::OpenStore;

/// Why a store could not do what it was asked: one line for the user of the command.
pub type Problem = Box<dyn Error + Send + Sync>;

/// A kind of store, registered under its URL schemes by [`App::with_store`](crate::App::with_store).
pub trait StoreDriver: Send + Sync + 'static {
    /// The schemes of its URLs without the colon, the usual one first: for example `["sqlite"]`.
    fn schemes(&self) -> &'static [&'static str];

    /// How a URL is written, for example `sqlite:PATH`. Shown by `--help` and where a URL is refused.
    fn usage(&self) -> &'static str;

    /// What the store is, in a few words that follow the usage in `--help`.
    fn summary(&self) -> &'static str;

    /// Whether the data outlasts the process. The commands that end at once (`keys`, `store`,
    /// `import`, `export`) refuse a store that does not.
    fn is_lasting(&self) -> bool {
        true
    }

    /// Reads a URL whose scheme is one of [`schemes`](Self::schemes), without opening anything.
    ///
    /// # Errors
    /// One line that says what would be right. It repeats nothing that may be a password; a command never
    /// quotes the URL itself.
    fn parse(&self, url: &str) -> Result<Arc<dyn StoreLocation>, Problem>;
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
    /// One line that says what is wrong and how to correct it, without a password.
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

    /// The URL that opens this store from any folder, with its password: a service opens the other store of
    /// a move by it. By default there is none, and the store takes part in no move.
    fn full_url(&self) -> Option<String> {
        None
    }

    /// What this store alone is, however its URL is spelled, for example the device and the inode of its
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

    /// The file beside the store for the API key that a service makes at its first start, where it has no
    /// terminal to show it on. By default there is none, and no key is made there.
    fn key_file(&self) -> Option<PathBuf> {
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

/// What a backup calls from time to time: with how many parts are done, of how many. It answers whether to
/// go on.
pub type BackupWatch = Box<dyn FnMut(u64, u64) -> ControlFlow<()> + Send>;

/// What a store is opened for.
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
