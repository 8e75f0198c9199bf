//! What the target of a copy holds before.

use super::{
    super::moving::{
        BATCH, LiveAttempts, MoveProgress, MoveStep, Watch, between_attempts, between_keys,
        between_pets,
    },
    CopyError, tell, unreadable_target,
};
use crate::{ApiKey, AttemptRecord, Difference, PetId, Snapshot, Timestamp};

/// The animals that the target holds: the first of the source.
pub(super) struct Found {
    /// The last of them.
    pub(super) last: Option<PetId>,
    /// How many they are.
    pub(super) pets: u64,
}

/// Holds that the target has nothing but what an earlier copy of the same source has left there.
pub(super) async fn holds_no_other_data(
    from: &mut dyn Snapshot,
    to: &mut dyn Snapshot,
    expired: Timestamp,
    watch: Watch<'_>,
) -> Result<Found, CopyError> {
    let found = pets(from, to, watch).await?;
    keys(
        &from.keys().await.map_err(CopyError::From)?,
        &to.keys().await.map_err(unreadable_target)?,
    )?;
    attempts(LiveAttempts::of(from, expired), LiveAttempts::of(to, expired)).await?;
    Ok(found)
}

/// The animals of the target are the first of the source.
async fn pets(
    from: &mut dyn Snapshot,
    to: &mut dyn Snapshot,
    watch: Watch<'_>,
) -> Result<Found, CopyError> {
    let of = to.counts().await.map_err(unreadable_target)?.pets;
    let mut found = Found { last: None, pets: 0 };
    loop {
        let theirs = to.pets(found.last, BATCH).await.map_err(unreadable_target)?;
        let Some(last) = theirs.last() else { return Ok(found) };
        let ours = from.pets(found.last, BATCH).await.map_err(CopyError::From)?;
        for (index, pet) in theirs.iter().enumerate() {
            refuse(between_pets(ours.get(index), Some(pet)))?;
        }
        found = Found { last: Some(last.id), pets: found.pets + theirs.len() as u64 };
        tell(watch, MoveProgress { step: MoveStep::ComparePets, done: found.pets, of })?;
    }
}

/// Every API key of the target is one of the source's, whatever became of it since.
fn keys(from: &[ApiKey], to: &[ApiKey]) -> Result<(), CopyError> {
    for key in to {
        let ours = from.iter().find(|ours| ours.id == key.id);
        if ours.and_then(|ours| ours.joined_with(key)).is_none() {
            refuse(between_keys(ours, Some(key)))?;
        }
    }
    Ok(())
}

/// Every idempotency record of the target is one of the source's, or an older one that the source
/// has replaced since.
async fn attempts(mut from: LiveAttempts<'_>, mut to: LiveAttempts<'_>) -> Result<(), CopyError> {
    while let Some(theirs) = to.next().await.map_err(unreadable_target)? {
        let ours = find(&mut from, &theirs).await?;
        let replaced =
            |ours: &AttemptRecord| ours.idempotency == theirs.idempotency && ours.at > theirs.at;
        if !ours.as_ref().is_some_and(replaced) {
            refuse(between_attempts(ours.as_ref(), Some(&theirs)))?;
        }
    }
    Ok(())
}

/// Reads on to the record under the key of `theirs`; the next one behind if there is none.
async fn find(
    from: &mut LiveAttempts<'_>,
    theirs: &AttemptRecord,
) -> Result<Option<AttemptRecord>, CopyError> {
    let place = |record: &AttemptRecord| {
        (record.idempotency.caller.0, record.idempotency.key.as_str().to_owned())
    };
    loop {
        match from.next().await.map_err(CopyError::From)? {
            Some(ours) if place(&ours) < place(theirs) => {}
            found => return Ok(found),
        }
    }
}

fn refuse(difference: Option<Difference>) -> Result<(), CopyError> {
    difference.map_or(Ok(()), |difference| Err(CopyError::OtherData(difference)))
}
