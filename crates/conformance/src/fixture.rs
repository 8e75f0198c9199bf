//! The store that a promise is checked on.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    failure::{Failure, PromiseResult},
    harness::{Capability, Harness, ScratchStore, Store},
};

/// A new store that is open through each of its handles.
pub(crate) struct Fixture {
    // In the order in which they are dropped: the scratch store may remove the data.
    /// Two handles, as of two processes, if the adapter supports that; otherwise one.
    pub(crate) handles: Vec<Store>,
    pub(crate) scratch: Arc<dyn ScratchStore>,
    pub(crate) harness: Arc<dyn Harness>,
    scratches: Scratches,
}

/// Every throw-away store of one promise, to be removed at its end.
pub(crate) type Scratches = Arc<Mutex<Vec<Arc<dyn ScratchStore>>>>;

impl Fixture {
    /// Makes a store, notes it in `scratches`, and opens it.
    pub(crate) async fn new(
        harness: Arc<dyn Harness>,
        scratches: Scratches,
    ) -> PromiseResult<Self> {
        Self::unopened(harness, scratches).await?.opened(false).await
    }

    async fn unopened(harness: Arc<dyn Harness>, scratches: Scratches) -> PromiseResult<Self> {
        let failed = |problem| Failure::new(format!("the harness has no fresh store: {problem}"));
        let scratch: Arc<dyn ScratchStore> = harness.fresh().await.map_err(failed)?.into();
        scratches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&scratch));
        Ok(Self { handles: Vec::new(), scratch, harness, scratches })
    }

    /// Opens its handles.
    pub(crate) async fn opened(mut self, reads_while_sealed: bool) -> PromiseResult<Self> {
        for _ in 0..if self.supports(Capability::SecondHandle) { 2 } else { 1 } {
            self.handles.push(open(&*self.scratch, reads_while_sealed).await?);
        }
        Ok(self)
    }

    /// Makes another store.
    pub(crate) async fn another(&self) -> PromiseResult<Self> {
        Self::new(Arc::clone(&self.harness), Arc::clone(&self.scratches)).await
    }

    /// Makes another store that nobody has opened yet.
    pub(crate) async fn another_unopened(&self) -> PromiseResult<Self> {
        Self::unopened(Arc::clone(&self.harness), Arc::clone(&self.scratches)).await
    }

    /// Closes every handle and opens the store again.
    pub(crate) async fn reopened(mut self) -> PromiseResult<Self> {
        for store in self.handles.drain(..) {
            let failed = |problem| Failure::new(format!("it does not close: {problem}"));
            self.scratch.close(store).await.map_err(failed)?;
        }
        self.opened(false).await
    }

    /// Closes the store and opens it again, if the adapter supports that.
    pub(crate) async fn reopened_if_supported(self) -> PromiseResult<Self> {
        if self.supports(Capability::Reopen) { self.reopened().await } else { Ok(self) }
    }

    pub(crate) fn supports(&self, capability: Capability) -> bool {
        self.harness.unsupported(capability).is_none()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.handles[0]
    }

    /// Returns the handles in turn.
    pub(crate) fn handle(&self, number: usize) -> &Store {
        &self.handles[number % self.handles.len()]
    }
}

/// For promises that need no more than the ports.
impl From<Fixture> for Store {
    fn from(fixture: Fixture) -> Self {
        fixture.store().clone()
    }
}

pub(crate) async fn open(
    scratch: &dyn ScratchStore,
    reads_while_sealed: bool,
) -> PromiseResult<Store> {
    let failed = |problem| Failure::new(format!("it does not open: {problem}"));
    scratch.open(reads_while_sealed).await.map_err(failed)
}
