//! The two traits that the author of an adapter implements.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{Archive, Handover, KeyStore, PetId, PetRepository};

/// The reason why a call of a harness failed. A failed call counts as a broken promise.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Makes throw-away stores of one adapter.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// Returns the place of a new store. [Removing](ScratchStore::remove) or dropping the place removes all data, also
    /// after a broken promise.
    ///
    /// # Errors
    /// No place could be made.
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError>;

    /// Returns why the adapter, or this harness, does not support `capability`; `None` if it is supported.
    /// Promises that need an unsupported capability are printed as not checked.
    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        let _ = capability;
        None
    }

    /// Returns the time limit of a call while the store cannot be reached, and of the store's
    /// recovery afterwards.
    fn outage_timeout(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Returns the time limit of one promise. An adapter that hangs breaks the promise.
    fn time_limit(&self) -> Duration {
        Duration::from_mins(5)
    }
}

/// The place of one throw-away store: a directory, a schema, a value in memory. The place outlives every [`Store`]
/// opened from it.
#[async_trait]
pub trait ScratchStore: Send + Sync {
    /// Opens the store. The first call creates it.
    ///
    /// With `reads_while_sealed`, this handle reads animals while the store is sealed
    /// ([`Handover`]); adapters without that port ignore the parameter.
    ///
    /// A call while the store is open returns a second handle of its data ([`Capability::SecondHandle`]). A call
    /// after every earlier handle was closed reopens the store ([`Capability::Reopen`]). Without these capabilities,
    /// the kit calls this method once.
    ///
    /// # Errors
    /// The store could not be opened.
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError>;

    /// Closes an open store. The kit keeps no clone of `store`. The default drops `store`; override the method if
    /// closing must wait.
    ///
    /// # Errors
    /// The store could not be closed.
    async fn close(&self, store: Store) -> Result<(), BoxError> {
        drop(store);
        Ok(())
    }

    /// Removes the data after the promise has ended. The default does nothing, for a place that removes its data when
    /// it is dropped.
    ///
    /// # Errors
    /// The data could not be removed.
    async fn remove(&self) -> Result<(), BoxError> {
        Ok(())
    }

    /// Makes the store unreachable until [`reconnect`](Self::reconnect): no write succeeds, and no
    /// read either if the technology allows that ([`Capability::Outage`]).
    ///
    /// # Errors
    /// The store is still reachable.
    async fn cut_off(&self) -> Result<(), BoxError> {
        Err("this harness cannot cut off a store".into())
    }

    /// Makes the store reachable again.
    ///
    /// # Errors
    /// The store is still unreachable.
    async fn reconnect(&self) -> Result<(), BoxError> {
        Err("this harness cannot reconnect a store".into())
    }

    /// Lets another process open the store and call [`act`](crate::act) with `action`
    /// ([`Capability::OtherProcess`]). [`act_in_child`](crate::act_in_child) starts this test
    /// program again as that process.
    ///
    /// # Errors
    /// The other process failed.
    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        Err(format!("this harness has no other process to {action}").into())
    }

    /// Makes the store refuse a second animal with the same name, as with a unique index that an operator creates
    /// ([`Capability::RefusedRow`]).
    ///
    /// # Errors
    /// The store did not accept the rule.
    async fn forbid_equal_names(&self) -> Result<(), BoxError> {
        Err("this harness cannot give the store a rule".into())
    }

    /// Deletes the row of an animal without the adapter, like an operator with SQL ([`Capability::DeletedRow`]).
    ///
    /// # Errors
    /// The row was not deleted.
    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        Err(format!("this harness cannot delete animal {id}").into())
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
    /// The handover port, with the state of the store ([`Capability::Handover`]).
    pub handover: Option<Arc<dyn Handover>>,
}

impl Store {
    /// Wraps a store without an archive.
    pub fn new<S: PetRepository + KeyStore + 'static>(store: Arc<S>) -> Self {
        Self { pets: store.clone(), keys: store, archive: None, handover: None }
    }

    /// Wraps a store with an archive.
    pub fn with_archive<S>(store: Arc<S>) -> Self
    where
        S: PetRepository + KeyStore + Archive + 'static,
    {
        Self { archive: Some(store.clone()), ..Self::new(store) }
    }

    /// Adds the [`Handover`] port of the same store.
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

/// A property that some adapters or harnesses lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// The data outlives the open store: the store can be closed and opened again.
    Reopen,
    /// The store can be open twice at the same time, as in two processes.
    SecondHandle,
    /// The harness can open the store in another process.
    OtherProcess,
    /// The harness can make the store unreachable, and reachable again.
    Outage,
    /// The harness can give the store a rule that refuses rows, such as a unique index.
    RefusedRow,
    /// The harness can delete a row without the adapter.
    DeletedRow,
    /// The adapter returns the version of the catalogue (`version` is not `None`).
    Version,
    /// The adapter implements [`Archive`].
    Archive,
    /// The adapter implements [`Handover`].
    Handover,
}
