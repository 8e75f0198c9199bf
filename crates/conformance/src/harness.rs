//! What a team with an adapter of its own implements.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{ApiKeyRepository, Archive, PetRepository};

/// Why a harness could not do its part. It counts against the adapter: nothing that was not checked
/// is ever called kept.
pub type Problem = Box<dyn Error + Send + Sync>;

/// Hands out throw-away stores of one adapter.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// A new place for a store that holds nothing yet. Dropping it removes everything, also when a
    /// promise was broken.
    ///
    /// # Errors
    /// No place could be made.
    async fn fresh(&self) -> Result<Box<dyn Place>, Problem>;

    /// Why the adapter, or this harness, lacks `capability`; `None` if it has it. What is lacking is
    /// printed as not checked.
    fn lacks(&self, capability: Capability) -> Option<&'static str> {
        let _ = capability;
        None
    }

    /// The longest that a call may take while the store cannot be reached, and the longest until it
    /// works again afterwards.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// The longest that one promise may take: an adapter that hangs breaks it.
    fn time_limit(&self) -> Duration {
        Duration::from_mins(5)
    }
}

/// Where one store lies: a directory, a schema, a value in memory. It is the store's guard: it lives
/// longer than every [`Store`] opened in it, and removes the data when it is dropped.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens the store that lies here, or makes it at the first call.
    ///
    /// A later call while the store is open gives another process's view of the same data
    /// ([`Capability::SecondHandle`]); a later call when every earlier handle was dropped opens it
    /// again ([`Capability::Reopen`]). Without these two it is called once.
    ///
    /// # Errors
    /// The store could not be opened.
    async fn open(&self) -> Result<Store, Problem>;

    /// Makes the store unreachable until [`Place::reconnect`]: from now on it can do no write, and
    /// no read either if the technology allows that ([`Capability::Outage`]).
    ///
    /// # Errors
    /// It could not be done.
    async fn cut_off(&self) -> Result<(), Problem> {
        Err("this place cannot cut off its store".into())
    }

    /// Ends what [`Place::cut_off`] began.
    ///
    /// # Errors
    /// It could not be done.
    async fn reconnect(&self) -> Result<(), Problem> {
        Err("this place cannot reconnect its store".into())
    }
}

/// The ports of one open store.
#[derive(Clone)]
pub struct Store {
    /// The animals.
    pub pets: Arc<dyn PetRepository>,
    /// The API keys.
    pub keys: Arc<dyn ApiKeyRepository>,
    /// The store as a whole ([`Capability::Archive`]).
    pub archive: Option<Arc<dyn Archive>>,
}

impl Store {
    /// The ports of a store without an archive.
    pub fn over<S: PetRepository + ApiKeyRepository + 'static>(store: Arc<S>) -> Self {
        Self { pets: store.clone(), keys: store, archive: None }
    }

    /// All three ports of a store.
    pub fn with_archive<S>(store: Arc<S>) -> Self
    where
        S: PetRepository + ApiKeyRepository + Archive + 'static,
    {
        Self { archive: Some(store.clone()), ..Self::over(store) }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// What not every adapter has, or not every harness can bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// The data outlives the open store: it can be closed and opened again.
    Reopen,
    /// Two open stores on the same data, as two processes would have.
    SecondHandle,
    /// The harness can make the store unreachable, and reachable again.
    Outage,
    /// The adapter knows the version of the catalogue (`version` is not `None`).
    Version,
    /// The adapter implements [`Archive`].
    Archive,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 5] =
        [Self::Reopen, Self::SecondHandle, Self::Outage, Self::Version, Self::Archive];
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reopen => "reopening",
            Self::SecondHandle => "a second handle",
            Self::Outage => "an outage",
            Self::Version => "a version",
            Self::Archive => "an archive",
        })
    }
}
