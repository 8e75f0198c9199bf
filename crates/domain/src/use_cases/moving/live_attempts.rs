//! The idempotency records that still count.

use std::vec;

use super::BATCH;
use crate::{AttemptRecord, Idempotency, ReadError, Snapshot, Timestamp};

/// Reads the idempotency records of a snapshot that still count, in its order.
pub(in super::super) struct LiveAttempts<'s> {
    snapshot: &'s mut dyn Snapshot,
    /// A record from this moment or before no longer counts.
    expired: Timestamp,
    /// The last one that was read.
    after: Option<Idempotency>,
    ready: vec::IntoIter<AttemptRecord>,
}

impl<'s> LiveAttempts<'s> {
    pub(in super::super) fn of(snapshot: &'s mut dyn Snapshot, expired: Timestamp) -> Self {
        Self { snapshot, expired, after: None, ready: vec::IntoIter::default() }
    }

    /// The next one; `None` if there is no more.
    pub(in super::super) async fn next(&mut self) -> Result<Option<AttemptRecord>, ReadError> {
        loop {
            let expired = self.expired;
            if let Some(record) = self.ready.find(|record| record.at > expired) {
                return Ok(Some(record));
            }
            let batch = self.snapshot.attempts(self.after.clone(), BATCH).await?;
            let Some(last) = batch.last() else { return Ok(None) };
            self.after = Some(last.idempotency.clone());
            self.ready = batch.into_iter();
        }
    }
}
