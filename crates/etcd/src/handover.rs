//! [`Handover`] on etcd. The state is part of the head, which every write compares.

use async_trait::async_trait;
use petstore_domain::{Handover, StoreError, StoreState};

use crate::{draft::Draft, store::EtcdStore};

#[async_trait]
impl Handover for EtcdStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let read = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(read.head.state()?)
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let change = |draft: &mut Draft<'_>| {
            let is_expected = draft.head.state()?.revision == expected;
            if is_expected {
                draft.head.set_state(&new);
            }
            Ok(is_expected)
        };
        self.core.commit(None, &[], false, change).await
    }
}
