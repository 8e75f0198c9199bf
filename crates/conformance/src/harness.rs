//! What a team with an adapter of its own implements.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{Archive, Handover, KeyStore, PetRepository};

/// Why a harness could not do its part. It counts as a broken promise.
pub type Problem = Box<dyn Error + Send + Sync>;

/// Makes throw-away stores of one adapter.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// Returns a new store that holds nothing. [Removing](ScratchStore::remove) or dropping it removes everything,
    /// also after a broken promise.
    ///
    /// # Errors
    /// None could be made.
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem>;

    /// Returns why the adapter, or this harness, does not support `capability`, or `None` if it does. The promises
    /// that need an unsupported capability are printed as not checked.
    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        let _ = capability;
        None
    }

    /// Returns how long a call may take while the store cannot be reached, and how long the store may take
    /// afterwards until it works again.
    fn outage_timeout(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Returns how long one promise may take: an adapter that hangs breaks it.
    fn time_limit(&self) -> Duration {
        Duration::from_mins(5)
    }
}

/// One throw-away store: a directory, a schema, a value in memory. It lives longer than every
/// [`Store`] opened from it.
#[async_trait]
pub trait ScratchStore: Send + Sync {
    /// Opens the store. The first call makes it.
    ///
    /// A later call while the store is open gives another process's view of the same data
    /// ([`Capability::SecondHandle`]); a later call when every earlier handle was dropped opens it
    /// again ([`Capability::Reopen`]). Without these two capabilities it is called once.
    ///
    /// # Errors
    /// The store could not be opened.
    async fn open(&self) -> Result<Store, Problem>;

    /// Closes an open store, of which the kit keeps no other handle. Dropping it is enough unless the technology
    /// has something to wait for.
    ///
    /// # Errors
    /// It could not be done.
    async fn close(&self, store: Store) -> Result<(), Problem> {
        drop(store);
        Ok(())
    }

    /// Removes the data, when the promise has ended. Nothing is to be done here if dropping the value does it.
    ///
    /// # Errors
    /// It could not be done.
    async fn remove(&self) -> Result<(), Problem> {
        Ok(())
    }

    /// Makes the store unreachable until [`ScratchStore::reconnect`]: from now on it can do no write, and
    /// no read either if the technology allows that ([`Capability::Outage`]).
    ///
    /// # Errors
    /// It could not be done.
    async fn cut_off(&self) -> Result<(), Problem> {
        Err("this harness cannot cut off a store".into())
    }

    /// Ends what [`ScratchStore::cut_off`] began.
    ///
    /// # Errors
    /// It could not be done.
    async fn reconnect(&self) -> Result<(), Problem> {
        Err("this harness cannot reconnect a store".into())
    }
}

/// The ports of one open store.
#[derive(Clone)]
pub struct Store {
    /// The animals.
    pub pets: Arc<dyn PetRepository>,
    /// The API keys.
    pub keys: Arc<dyn KeyStore>,
    /// The store as a whole ([`Capability::Archive`]).
    pub archive: Option<Arc<dyn Archive>>,
    /// What handing the store over needs ([`Capability::Handover`]).
    pub handover: Option<Arc<dyn Handover>>,
}

impl Store {
    /// Holds the ports of a store without an archive.
    pub fn new<S: PetRepository + KeyStore + 'static>(store: Arc<S>) -> Self {
        Self { pets: store.clone(), keys: store, archive: None, handover: None }
    }

    /// Holds the ports of a store with an archive.
    pub fn with_archive<S>(store: Arc<S>) -> Self
    where
        S: PetRepository + KeyStore + Archive + 'static,
    {
        Self { archive: Some(store.clone()), ..Self::new(store) }
    }

    /// Adds what handing the same store over needs.
    #[must_use]
    pub fn with_handover(self, handover: Arc<dyn Handover>) -> Self {
        Self { handover: Some(handover), ..self }
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
    /// The adapter implements [`Handover`].
    Handover,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 6] = [
        Self::Reopen,
        Self::SecondHandle,
        Self::Outage,
        Self::Version,
        Self::Archive,
        Self::Handover,
    ];
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reopen => "reopening",
            Self::SecondHandle => "a second handle",
            Self::Outage => "an outage",
            Self::Version => "a version",
            Self::Archive => "an archive",
            Self::Handover => "handing over while in use",
        })
    }
}
