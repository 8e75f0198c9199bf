//! [`Handover`] in memory.

use async_trait::async_trait;
use petstore_domain::{Handover, StoreError, StoreState};

use crate::store::KeptStore;

#[async_trait]
impl Handover for KeptStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        Ok(self.state().handover.clone())
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let stored = &mut self.state().handover;
        let changes = stored.revision == expected;
        if changes {
            *stored = StoreState { rewrites: stored.rewrites, ..new };
        }
        Ok(changes)
    }
}
