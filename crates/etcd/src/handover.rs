//! [`Handover`] on etcd: the state is part of the head, which every write compares.

use async_trait::async_trait;
use petstore_domain::{Handover, StoreError, StoreState};

use crate::{core::Plan, error::Failure, rows::Changes, store::EtcdStore};

#[async_trait]
impl Handover for EtcdStore {
    async fn state(&self) -> Result<StoreState, StoreError> {
        let read = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(read.head.state()?)
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        let changed = self.core.commit(&[], false, |read, _| {
            let mut head = read.head.clone();
            if head.state()?.revision != expected {
                return Ok::<_, Failure>(Plan::Done(false));
            }
            head.set_state(&new);
            head.renew()?;
            Ok(Plan::Write(Box::new(head), Changes::new(), true))
        });
        Ok(changed.await?)
    }
}
