//! Copies rows from a snapshot into a store.

use std::{mem, time::Duration};

use petstore_domain::{
    ApiKey, Archive, PetId, RecordPosition, Rows, Snapshot, Timestamp, WriterRole,
};
use tokio::time::{Instant, sleep};

use crate::{
    compare::LiveRecords,
    error::TransferError,
    progress::{OnProgress, TransferStep, report},
};

/// Writes rows into a store.
pub(crate) struct RowWriter<'t> {
    pub(crate) target: &'t dyn Archive,
    pub(crate) writer: WriterRole,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
    /// `true` if it pauses after each batch for as long as the batch took, so that services have half of the machine.
    pub(crate) yields: bool,
}

impl RowWriter<'_> {
    /// Copies the animals behind `last`. Reads the next batch while it writes one. Returns the number of animals.
    pub(crate) async fn copy_pets(
        &self,
        source: &mut dyn Snapshot,
        last: &mut Option<PetId>,
        (done, total): (u64, u64),
        on_progress: OnProgress<'_>,
    ) -> Result<u64, TransferError> {
        let size = u32::try_from(self.target.max_batch()).unwrap_or(u32::MAX);
        let mut pets = source.pets(*last, size).await.map_err(TransferError::Source)?;
        let mut copied = 0;
        loop {
            report(on_progress, TransferStep::CopyPets, done + copied, total)?;
            let Some(end) = pets.last().map(|pet| pet.id) else { return Ok(copied) };
            let (began, count) = (Instant::now(), pets.len() as u64);
            let write = self.write(Rows { pets, ..Rows::default() });
            let (written, next) = tokio::join!(write, source.pets(Some(end), size));
            written?;
            (*last, copied) = (Some(end), copied + count);
            pets = next.map_err(TransferError::Source)?;
            sleep(if self.yields { began.elapsed() } else { Duration::ZERO }).await;
        }
    }

    /// Copies the records behind `last` that have not expired. Returns their number.
    pub(crate) async fn copy_records(
        &self,
        source: &mut dyn Snapshot,
        last: &mut Option<RecordPosition>,
        total: u64,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, TransferError> {
        let mut live = LiveRecords::new(source, self.cutoff, *last);
        let (mut records, mut copied) = (Vec::new(), 0);
        loop {
            let next = live.next().await.map_err(TransferError::Source)?;
            let is_end = next.is_none();
            records.extend(next);
            if records.len() == self.target.max_batch() || is_end && !records.is_empty() {
                copied += records.len() as u64;
                let end = records.last().map(petstore_domain::IdempotencyRecord::position);
                self.write(Rows { records: mem::take(&mut records), ..Rows::default() }).await?;
                *last = end;
                report(on_progress, TransferStep::CopyRecords, copied, total)?;
            }
            if is_end {
                return Ok(copied);
            }
        }
    }

    /// Returns the keys of the source that the target does not hold like that.
    pub(crate) async fn changed_keys(
        &self,
        source: &mut dyn Snapshot,
    ) -> Result<Vec<ApiKey>, TransferError> {
        let ours = source.keys().await.map_err(TransferError::Source)?;
        let theirs = async { self.target.snapshot().await?.keys().await };
        let theirs = theirs.await.map_err(TransferError::target)?;
        // Both are ascending by identifier.
        let held = |key: &ApiKey| {
            let place = theirs.binary_search_by_key(&key.id, |key| key.id);
            place.is_ok_and(|place| theirs[place] == *key)
        };
        Ok(ours.into_iter().filter(|key| !held(key)).collect())
    }

    /// Writes rows, in as few calls as the target permits.
    pub(crate) async fn write(&self, mut rows: Rows) -> Result<(), TransferError> {
        loop {
            let mut room = self.target.max_batch();
            let pets = take(&mut rows.pets, &mut room);
            let keys = take(&mut rows.keys, &mut room);
            let records = take(&mut rows.records, &mut room);
            let rest = rows.pets.len() + rows.keys.len() + rows.records.len();
            let batch = Rows { pets, keys, records, highest: rows.highest };
            let written = self.target.write_rows(self.writer, batch).await;
            written.map_err(TransferError::Target)?;
            if rest == 0 {
                return Ok(());
            }
        }
    }
}

/// Takes the first rows, as many as there is room for.
fn take<R>(rows: &mut Vec<R>, room: &mut usize) -> Vec<R> {
    let count = rows.len().min(*room);
    *room -= count;
    let rest = rows.split_off(count);
    mem::replace(rows, rest)
}
