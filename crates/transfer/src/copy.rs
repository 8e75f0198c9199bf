//! Copying a store into another.

use std::mem;

use petstore_domain::{Archive, Batch, Timestamp};

use crate::{
    compare::{Compared, Expect, LiveRecords, compare},
    error::TransferError,
    progress::{OnProgress, TransferStep, report},
};

/// What a copy has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Animals that the target held before.
    pub found: u64,
    /// Animals that were copied now.
    pub pets: u64,
    /// API keys of the source, all of which the target now holds.
    pub keys: u64,
    /// Idempotency records of the source that have not expired, all of which the target now holds.
    pub idempotency_records: u64,
}

/// Copies the animals with their identifiers, the API keys, and the idempotency records that have not
/// expired at `now`, as the source is now.
///
/// Every batch is committed on its own, animals first, in ascending order: a copy that was interrupted
/// is resumed by running it again, and so is one whose source has grown since. Before anything
/// is written, all that the target holds is compared with the source.
///
/// # Errors
/// [`TransferError`].
pub async fn copy(
    from: &dyn Archive,
    to: &dyn Archive,
    now: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<Copied, TransferError> {
    let mut compared = compare((from, to), Expect::Prefix, now, |_| (), on_progress).await?;
    let pets = copy_pets(&mut compared, to, on_progress).await?;
    let keys = compared.from.keys().await.map_err(TransferError::From)?;
    for some in keys.chunks(to.max_batch()) {
        write(to, Batch { keys: some.to_vec(), ..Batch::default() }).await?;
    }
    let idempotency_records = copy_records(&mut compared, to, on_progress).await?;
    // The target holds as many animals as the source, so nothing else wrote to it.
    let counts = async { to.snapshot().await?.counts().await };
    let there = counts.await.map_err(TransferError::to)?.pets;
    if there != compared.total.pets {
        return Err(TransferError::ConcurrentWrite { from: compared.total.pets, to: there });
    }
    let (found, keys) = (compared.counts.pets, keys.len() as u64);
    Ok(Copied { found, pets, keys, idempotency_records })
}

async fn copy_pets(
    Compared { from, total, last, counts, .. }: &mut Compared,
    to: &dyn Archive,
    on_progress: OnProgress<'_>,
) -> Result<u64, TransferError> {
    let size = u32::try_from(to.max_batch()).unwrap_or(u32::MAX);
    let mut pets = from.pets(*last, size).await.map_err(TransferError::From)?;
    let mut done = counts.pets;
    loop {
        report(on_progress, TransferStep::CopyPets, done, total.pets)?;
        let Some(end) = pets.last() else { return Ok(done - counts.pets) };
        let last = Some(end.id);
        done += pets.len() as u64;
        // The source reads while the target writes.
        let batch = Batch { pets, ..Batch::default() };
        let (written, next) = tokio::join!(write(to, batch), from.pets(last, size));
        written?;
        pets = next.map_err(TransferError::From)?;
    }
}

async fn copy_records(
    Compared { from, total, cutoff, .. }: &mut Compared,
    to: &dyn Archive,
    on_progress: OnProgress<'_>,
) -> Result<u64, TransferError> {
    let mut live = LiveRecords::new(&mut **from, *cutoff);
    let (mut records, mut done) = (Vec::new(), 0);
    loop {
        let next = live.next().await.map_err(TransferError::From)?;
        let is_last = next.is_none();
        records.extend(next);
        if records.len() == to.max_batch() || is_last && !records.is_empty() {
            done += records.len() as u64;
            write(to, Batch { records: mem::take(&mut records), ..Batch::default() }).await?;
            report(on_progress, TransferStep::CopyRecords, done, total.idempotency_records)?;
        }
        if is_last {
            return Ok(done);
        }
    }
}

async fn write(to: &dyn Archive, batch: Batch) -> Result<(), TransferError> {
    to.write(batch).await.map(drop).map_err(TransferError::To)
}
