//! One read in flight, whoever waits for it.

use std::{
    error::Error,
    pin::Pin,
    sync::{Arc, PoisonError},
};

use futures_util::future::{FutureExt as _, Shared, WeakShared};

use crate::{
    error::{Corruption, StoreError},
    sync::{Mutex, MutexGuard},
};

/// A read that is run once for all who wait for it. It makes progress while at least one of them
/// does, and is dropped with the last one.
pub(super) struct Refresh<T: Clone>(Mutex<Option<WeakShared<Read<T>>>>);

type Read<T> = Pin<Box<dyn Future<Output = Result<T, SharedError>> + Send>>;

impl<T: Clone> Default for Refresh<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Refresh<T> {
    /// Whether a read is in flight.
    pub(super) fn is_in_flight(&self) -> bool {
        in_flight(self.slot().as_ref()).is_some()
    }

    /// Waits for the read that is in flight, or else begins the one that `begin` makes.
    pub(super) async fn join<F>(&self, begin: impl FnOnce() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let read = {
            let mut slot = self.slot();
            let read = in_flight(slot.as_ref()).unwrap_or_else(|| {
                let read = begin();
                let read: Read<T> = Box::pin(async { read.await.map_err(SharedError::from) });
                read.shared()
            });
            *slot = read.downgrade();
            read
        };
        read.await.map_err(StoreError::from)
    }

    fn slot(&self) -> MutexGuard<'_, Option<WeakShared<Read<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_flight<T: Clone>(slot: Option<&WeakShared<Read<T>>>) -> Option<Shared<Read<T>>> {
    slot.and_then(WeakShared::upgrade).filter(|read| read.peek().is_none())
}

/// A [`StoreError`] that everybody who waited gets.
#[derive(Clone)]
enum SharedError {
    Unavailable(Arc<dyn Error + Send + Sync>),
    Sealed(String),
    Refused(String),
    Corrupt(Corruption),
}

impl From<StoreError> for SharedError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(corruption) => Self::Corrupt(corruption),
            StoreError::Unavailable(cause) => Self::Unavailable(cause.into()),
            StoreError::Sealed(reason) => Self::Sealed(reason),
            StoreError::Refused(reason) => Self::Refused(reason),
        }
    }
}

impl From<SharedError> for StoreError {
    fn from(error: SharedError) -> Self {
        match error {
            SharedError::Corrupt(corruption) => corruption.into(),
            SharedError::Unavailable(cause) => Self::Unavailable(Box::new(cause)),
            SharedError::Sealed(reason) => Self::Sealed(reason),
            SharedError::Refused(reason) => Self::Refused(reason),
        }
    }
}
