//! Copies a store into another.

use petstore_domain::{Archive, Handover, Phase, StoreId, StoreState, Timestamp, WriterRole};

use crate::{
    compare::{Pair, Position},
    difference::Expect,
    error::TransferError,
    progress::OnProgress,
    rows::{Copied, RowWriter},
};

/// Stands for the identity of a source without the port `Handover`.
const UNKNOWN: StoreId = StoreId([0; 16]);

const CONCURRENT_WRITE: &str = "another program wrote to the target meanwhile; run the copy again when nothing else uses the target";

/// The ports of the source or the target of a copy.
#[derive(Clone, Copy)]
pub struct CopyPorts<'s> {
    /// The store as a whole.
    pub archive: &'s dyn Archive,
    /// The port for the state of the store, if the store has one.
    pub handover: Option<&'s dyn Handover>,
}

impl std::fmt::Debug for CopyPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyPorts").finish_non_exhaustive()
    }
}

/// The rows of a copy that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySummary {
    /// The number of animals that the target held before the copy.
    pub found: u64,
    /// The number of copied animals.
    pub pets: u64,
    /// The number of API keys in the source. The target holds all of them.
    pub keys: u64,
    /// The number of live idempotency records in the source. The target holds all of them.
    pub records: u64,
    /// `true` if the target was marked as being filled until the copy was complete.
    pub was_marked: bool,
}

/// Copies the animals with their identifiers, the API keys, and the idempotency records that have not expired at `now`.
/// All rows are from one snapshot of the source.
///
/// Before it writes, `copy` compares every row of the target with the source. The target is then [being
/// filled](Phase::Filling) until the copy is complete, so no service uses it. A target without the port [`Handover`]
/// cannot be marked. Run an interrupted copy again to continue it. Run a complete copy again to add the new rows of the
/// source.
///
/// # Errors
/// [`TransferError`].
pub async fn copy(
    source: CopyPorts<'_>,
    target: CopyPorts<'_>,
    now: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<CopySummary, TransferError> {
    let states = states(source, target).await?;
    let mut pair = Pair::open(source.archive, target.archive, now).await?;
    let total = pair.source.counts().await.map_err(TransferError::Source)?;
    let highest_before = pair.target.highest_ids().await.map_err(TransferError::target)?;
    let compared = pair.compare(Expect::Part, Position::default(), on_progress).await?;
    let Pair { mut source, target: snapshot, cutoff } = pair;
    // An open snapshot would delay the housekeeping of the target.
    drop(snapshot);
    let mut writer = WriterRole::Service;
    if let Some((handover, found, claim)) = &states {
        change(*handover, found, claim.clone()).await?;
        writer = WriterRole::Mover(claim.revision);
        // Another program may have written to the target between the comparison and the claim.
        let highest = async { target.archive.snapshot().await?.highest_ids().await };
        let highest = highest.await.map_err(TransferError::target)?;
        let rewrites = handover.state().await.map_err(TransferError::target)?.rewrites;
        if found.phase.is_open() && (highest, rewrites) != (highest_before, found.rewrites) {
            change(*handover, claim, claim.next(found.phase.clone())).await?;
            return Err(TransferError::failed(CONCURRENT_WRITE));
        }
    }
    let writer = RowWriter { target: target.archive, writer, cutoff, yields: false, total };
    let (last, found) = (Position { pet: compared.last, record: None }, compared.counts.pets);
    let mut copied = Copied { last, pets: found, ..Copied::default() };
    writer.copy(&mut *source, &mut copied, on_progress).await?;
    if let Some((handover, found, claim)) = &states {
        let from = if let Phase::Open { from } = found.phase { from } else { None };
        change(*handover, claim, claim.next(Phase::Open { from })).await?;
    } else {
        // If the numbers of animals differ, another program has written to the target.
        let counts = async { target.archive.snapshot().await?.counts().await };
        if counts.await.map_err(TransferError::target)?.pets != total.pets {
            return Err(TransferError::failed(CONCURRENT_WRITE));
        }
    }
    Ok(CopySummary {
        found,
        pets: copied.pets - found,
        keys: copied.keys.len() as u64,
        records: copied.records,
        was_marked: states.is_some(),
    })
}

/// Returns the port for the state of the target, its present state, and its state while it is being filled. Returns
/// `None` for a target without the port.
///
/// # Errors
/// If the source is being filled itself. If the target has the identity of the source, has taken the place of the
/// source, was handed over, or is being filled from another store.
async fn states<'s>(
    source: CopyPorts<'_>,
    target: CopyPorts<'s>,
) -> Result<Option<(&'s dyn Handover, StoreState, StoreState)>, TransferError> {
    let refused = |store, why| TransferError::Refused(format!("the {store} {why}"));
    let mut source_id = UNKNOWN;
    if let Some(handover) = source.handover {
        let state = handover.state().await.map_err(TransferError::Source)?;
        source_id = state.id;
        if let (Phase::Filling { .. }, Some(why)) = (&state.phase, state.phase.refusal()) {
            return Err(refused("source", why));
        }
    }
    let Some(handover) = target.handover else { return Ok(None) };
    let found = handover.state().await.map_err(TransferError::target)?;
    let filling = Phase::Filling { from: source_id };
    let why = if found.id == source_id {
        Some("is a copy of the files of the source, with its identity".to_owned())
    } else if found.phase == (Phase::Open { from: Some(source_id) }) {
        // Each copy raises the revision, which could make a stale target the store in use.
        Some("has taken the place of the source, and may be in use".to_owned())
    } else {
        found.phase.refusal().filter(|_| found.phase != filling)
    };
    let claim = found.next(filling);
    why.map_or(Ok(Some((handover, found, claim))), |why| Err(refused("target", why)))
}

/// Replaces the state of the target.
async fn change(
    handover: &dyn Handover,
    expected: &StoreState,
    new: StoreState,
) -> Result<(), TransferError> {
    match handover.change_state(expected.revision, new).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(TransferError::failed(CONCURRENT_WRITE)),
        Err(error) => Err(TransferError::target(error)),
    }
}
