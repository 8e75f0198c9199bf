//! The store on which a promise is checked.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    failure::{PromiseResult, tried},
    harness::{Capability, Harness, ScratchStore, Store},
};

/// A new store with open handles.
pub(crate) struct Fixture {
    // The fields are dropped in this order: the handles before the scratch store, which may remove the data.
    /// Two handles, which stand for two processes; one handle if the adapter does not support two.
    pub(crate) handles: Vec<Store>,
    pub(crate) scratch: Arc<dyn ScratchStore>,
    pub(crate) harness: Arc<dyn Harness>,
    scratches: Scratches,
}

/// The throw-away stores of one promise, which are removed at its end.
pub(crate) type Scratches = Arc<Mutex<Vec<Arc<dyn ScratchStore>>>>;

impl Fixture {
    /// Creates a store and adds it to `scratches`, without opening it.
    pub(crate) async fn unopened(
        harness: Arc<dyn Harness>,
        scratches: Scratches,
    ) -> PromiseResult<Self> {
        let scratch = tried("the harness has no fresh store", harness.fresh().await)?;
        let scratch: Arc<dyn ScratchStore> = scratch.into();
        scratches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&scratch));
        Ok(Self { handles: Vec::new(), scratch, harness, scratches })
    }

    /// Opens the handles of a store.
    pub(crate) async fn opened(mut self, reads_while_sealed: bool) -> PromiseResult<Self> {
        for _ in 0..if self.supports(Capability::SecondHandle) { 2 } else { 1 } {
            self.handles.push(open(&*self.scratch, reads_while_sealed).await?);
        }
        Ok(self)
    }

    /// Creates another store.
    pub(crate) async fn another(&self) -> PromiseResult<Self> {
        self.another_unopened().await?.opened(false).await
    }

    /// Creates another store without opening it.
    pub(crate) async fn another_unopened(&self) -> PromiseResult<Self> {
        Self::unopened(Arc::clone(&self.harness), Arc::clone(&self.scratches)).await
    }

    /// Closes every handle and opens the store again, if the adapter supports that.
    pub(crate) async fn reopened_if_supported(mut self) -> PromiseResult<Self> {
        if !self.supports(Capability::Reopen) {
            return Ok(self);
        }
        for store in self.handles.drain(..) {
            tried("the store does not close", self.scratch.close(store).await)?;
        }
        self.opened(false).await
    }

    pub(crate) fn supports(&self, capability: Capability) -> bool {
        self.harness.unsupported(capability).is_none()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.handles[0]
    }

    /// Returns the handle `number`. After the last handle, the numbers begin again with the first.
    pub(crate) fn handle(&self, number: usize) -> &Store {
        &self.handles[number % self.handles.len()]
    }
}

/// Lets a promise that needs one handle take a [`Store`] instead of a [`Fixture`].
impl From<Fixture> for Store {
    fn from(fixture: Fixture) -> Self {
        fixture.store().clone()
    }
}

pub(crate) async fn open(
    scratch: &dyn ScratchStore,
    reads_while_sealed: bool,
) -> PromiseResult<Store> {
    tried("the store does not open", scratch.open(reads_while_sealed).await)
}
