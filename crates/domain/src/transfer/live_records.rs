//! Reading the idempotency records that have not expired.

use std::vec;

use crate::{
    catalogue::idempotency::{IdempotencyId, IdempotencyRecord},
    error::StoreError,
    timestamp::Timestamp,
    transfer::{archive::Snapshot, progress::BATCH},
};

/// Reads the idempotency records of a snapshot that have not expired, in its order.
pub(crate) struct LiveRecords<'s> {
    snapshot: &'s mut dyn Snapshot,
    /// A record made at this moment or before has expired.
    cutoff: Timestamp,
    /// The last one that was read.
    after: Option<IdempotencyId>,
    batch: vec::IntoIter<IdempotencyRecord>,
}

impl<'s> LiveRecords<'s> {
    pub(crate) fn new(snapshot: &'s mut dyn Snapshot, cutoff: Timestamp) -> Self {
        Self { snapshot, cutoff, after: None, batch: vec::IntoIter::default() }
    }

    /// The next one; `None` if there is no more.
    pub(crate) async fn next(&mut self) -> Result<Option<IdempotencyRecord>, StoreError> {
        loop {
            let cutoff = self.cutoff;
            if let Some(record) = self.batch.find(|record| record.at > cutoff) {
                return Ok(Some(record));
            }
            let batch = self.snapshot.idempotency_records(self.after, BATCH).await?;
            let Some(last) = batch.last() else { return Ok(None) };
            self.after = Some(last.id);
            self.batch = batch.into_iter();
        }
    }
}
