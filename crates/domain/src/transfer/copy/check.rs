//! The check before a copy: what the target may hold.

use super::error::CopyError;
use crate::{
    access::key::ApiKey,
    catalogue::{idempotency::IdempotencyRecord, pet::PetId},
    timestamp::Timestamp,
    transfer::{
        archive::Snapshot,
        difference::{Difference, between_keys, between_pets, between_records},
        live_records::LiveRecords,
        progress::{BATCH, OnProgress, TransferProgress, TransferStep, report},
    },
};

/// The animals that the target holds: the first of the source.
pub(super) struct Prefix {
    /// The last of them.
    pub(super) last: Option<PetId>,
    /// How many they are.
    pub(super) pets: u64,
}

/// The target holds nothing but what an earlier copy of the same source has left there. Its snapshot ends
/// here, so that it does not hold up the target's housekeeping while the copy is written.
pub(super) async fn require_prefix(
    from: &mut dyn Snapshot,
    mut to: Box<dyn Snapshot>,
    cutoff: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<Prefix, CopyError> {
    let to = &mut *to;
    let prefix = pets(from, to, on_progress).await?;
    keys(
        &from.keys().await.map_err(CopyError::From)?,
        &to.keys().await.map_err(CopyError::target)?,
    )?;
    records(LiveRecords::new(from, cutoff), LiveRecords::new(to, cutoff)).await?;
    Ok(prefix)
}

/// The animals of the target are the first of the source.
async fn pets(
    from: &mut dyn Snapshot,
    to: &mut dyn Snapshot,
    on_progress: OnProgress<'_>,
) -> Result<Prefix, CopyError> {
    let total = to.counts().await.map_err(CopyError::target)?.pets;
    let mut prefix = Prefix { last: None, pets: 0 };
    loop {
        let theirs = to.pets(prefix.last, BATCH).await.map_err(CopyError::target)?;
        let Some(last) = theirs.last() else { return Ok(prefix) };
        let ours = from.pets(prefix.last, BATCH).await.map_err(CopyError::From)?;
        for (index, pet) in theirs.iter().enumerate() {
            require_none(between_pets(ours.get(index), Some(pet)))?;
        }
        prefix = Prefix { last: Some(last.id), pets: prefix.pets + theirs.len() as u64 };
        let step = TransferStep::ComparePets;
        report(on_progress, TransferProgress { step, done: prefix.pets, total })?;
    }
}

/// Every API key of the target is one of the source's, whatever became of it since.
fn keys(from: &[ApiKey], to: &[ApiKey]) -> Result<(), CopyError> {
    for key in to {
        let ours = from.iter().find(|ours| ours.id == key.id);
        if ours.and_then(|ours| ours.merged_with(key)).is_none() {
            require_none(between_keys(ours, Some(key)))?;
        }
    }
    Ok(())
}

/// Every idempotency record of the target is one of the source's, or an older one that the source
/// has replaced since.
async fn records(mut from: LiveRecords<'_>, mut to: LiveRecords<'_>) -> Result<(), CopyError> {
    while let Some(theirs) = to.next().await.map_err(CopyError::target)? {
        let ours = find(&mut from, &theirs).await?;
        let replaced = |ours: &IdempotencyRecord| ours.id == theirs.id && ours.at > theirs.at;
        if !ours.as_ref().is_some_and(replaced) {
            require_none(between_records(ours.as_ref(), Some(&theirs)))?;
        }
    }
    Ok(())
}

/// Reads on to the record with the id of `theirs`; the next one behind if there is none.
async fn find(
    from: &mut LiveRecords<'_>,
    theirs: &IdempotencyRecord,
) -> Result<Option<IdempotencyRecord>, CopyError> {
    loop {
        match from.next().await.map_err(CopyError::From)? {
            Some(ours) if ours.id < theirs.id => {}
            found => return Ok(found),
        }
    }
}

fn require_none(difference: Option<Difference>) -> Result<(), CopyError> {
    difference.map_or(Ok(()), |difference| Err(CopyError::OtherData(difference)))
}
