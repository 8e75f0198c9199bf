//! Copies rows from a snapshot into a store.

use std::{mem, time::Duration};

use petstore_domain::{
    ApiKey, Archive, HighestIds, IdempotencyRecord, Rows, Snapshot, StoreCounts, Timestamp,
    WriterRole,
};
use tokio::time::{Instant, sleep};

use crate::{
    compare::Position,
    error::TransferError,
    progress::{OnProgress, TransferStep, report},
};

/// Writes rows into a store.
pub(crate) struct RowWriter<'t> {
    pub(crate) target: &'t dyn Archive,
    pub(crate) writer: WriterRole,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
    /// `true` to pause after each batch for as long as the batch took, which leaves half of the machine to services.
    pub(crate) yields: bool,
    /// The number of rows after the copy, for the progress; 0 if it is unknown.
    pub(crate) total: StoreCounts,
}

/// The rows copied so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copied {
    /// The last copied animal and the last copied record.
    pub(crate) last: Position,
    /// The API keys of the source, as they were last copied.
    pub(crate) keys: Vec<ApiKey>,
    /// The number of copied animals and records. A copy also counts the animals that it has found in the target.
    pub(crate) pets: u64,
    pub(crate) records: u64,
}

impl RowWriter<'_> {
    /// Copies the animals and live records after the last copied rows, the changed keys, and the highest identifiers.
    ///
    /// Reads the next animals while it writes a full batch, and writes the last rows of all kinds together.
    pub(crate) async fn copy(
        &self,
        source: &mut dyn Snapshot,
        copied: &mut Copied,
        on_progress: OnProgress<'_>,
    ) -> Result<(), TransferError> {
        let max = self.target.max_batch();
        let (size, total) = (u32::try_from(max).unwrap_or(u32::MAX), self.total);
        let mut pets = source.pets(copied.last.pet, size).await.map_err(TransferError::Source)?;
        while pets.len() >= max {
            report(on_progress, TransferStep::CopyPets, copied.pets, total.pets)?;
            let (began, last) = (Instant::now(), pets.last().map(|pet| pet.id));
            let write = self.write(Rows { pets, ..Rows::default() }, copied);
            let (written, next) = tokio::join!(write, source.pets(last, size));
            written?;
            pets = next.map_err(TransferError::Source)?;
            sleep(if self.yields { began.elapsed() } else { Duration::ZERO }).await;
        }
        report(on_progress, TransferStep::CopyPets, copied.pets, total.pets)?;
        let (mut rows, mut last) = (Rows { pets, ..Rows::default() }, copied.last.record);
        loop {
            let records = source.records(last, size).await.map_err(TransferError::Source)?;
            let is_end = records.len() < max;
            last = records.last().map(IdempotencyRecord::position).or(last);
            rows.records.extend(records.into_iter().filter(|record| record.at > self.cutoff));
            if is_end {
                break;
            }
            if rows.records.len() >= max {
                self.write(mem::take(&mut rows), copied).await?;
                report(on_progress, TransferStep::CopyRecords, copied.records, total.records)?;
            }
        }
        let keys = source.keys().await.map_err(TransferError::Source)?;
        rows.keys = keys.iter().filter(|key| !copied.keys.contains(key)).cloned().collect();
        rows.highest = source.highest_ids().await.map_err(TransferError::Source)?;
        self.write(rows, copied).await?;
        (copied.keys, copied.last.record) = (keys, last);
        report(on_progress, TransferStep::CopyPets, copied.pets, total.pets)?;
        report(on_progress, TransferStep::CopyRecords, copied.records, total.records)?;
        Ok(())
    }

    /// Writes rows in as few calls as the target permits, and adds them to `copied`.
    async fn write(&self, mut rows: Rows, copied: &mut Copied) -> Result<(), TransferError> {
        let (pets, records) = (rows.pets.len() as u64, rows.records.len() as u64);
        let last = rows.pets.last().map(|pet| pet.id);
        while rows != Rows::default() {
            let mut room = self.target.max_batch();
            let mut part = Rows {
                pets: take(&mut rows.pets, &mut room),
                keys: take(&mut rows.keys, &mut room),
                records: take(&mut rows.records, &mut room),
                highest: HighestIds::default(),
            };
            if rows.pets.len() + rows.keys.len() + rows.records.len() == 0 {
                part.highest = mem::take(&mut rows.highest);
            }
            let written = self.target.write_rows(self.writer, part).await;
            written.map_err(TransferError::Target)?;
        }
        copied.pets += pets;
        copied.records += records;
        copied.last.pet = last.or(copied.last.pet);
        Ok(())
    }
}

/// Takes the first rows, at most `room` of them, and reduces `room` by their number.
fn take<R>(rows: &mut Vec<R>, room: &mut usize) -> Vec<R> {
    let count = rows.len().min(*room);
    *room -= count;
    let rest = rows.split_off(count);
    mem::replace(rows, rest)
}
