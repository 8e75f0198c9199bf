//! Copies a store into another.

use petstore_domain::{
    Archive, Handover, HighestIds, Phase, StoreId, StoreState, Timestamp, WriterRole,
};

use crate::{
    compare::{Pair, Position, cutoff},
    difference::Expect,
    error::TransferError,
    progress::OnProgress,
    rows::{Copied, RowWriter},
};

/// The identity of a source that has none.
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
/// filled](Phase::Filling) until the copy is complete, so no service uses it. A target without a state is not marked.
/// Run an interrupted copy again to continue it. Run a complete copy again to add the new rows of the source.
///
/// # Errors
/// [`TransferError`].
pub async fn copy(
    source: CopyPorts<'_>,
    target: CopyPorts<'_>,
    now: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<CopySummary, TransferError> {
    let source_id = match source.handover {
        None => UNKNOWN,
        Some(handover) => source_id(&handover.state().await.map_err(TransferError::Source)?)?,
    };
    let marked = match target.handover {
        None => None,
        Some(handover) => {
            let found = handover.state().await.map_err(TransferError::target)?;
            require_fillable(&found, source_id)?;
            Some((handover, found.next(Phase::Filling { from: source_id }), found))
        }
    };
    let mut pair = Pair::open(source.archive, target.archive, cutoff(now)).await?;
    let total = pair.source.counts().await.map_err(TransferError::Source)?;
    let highest_before = pair.target.highest_ids().await.map_err(TransferError::target)?;
    let compared = pair.compare(Expect::Part, Position::default(), on_progress).await?;
    let Pair { mut source, target: snapshot, cutoff } = pair;
    // An open snapshot would delay the housekeeping of the target.
    drop(snapshot);
    let mut role = WriterRole::Service;
    if let Some((handover, claim, found)) = &marked {
        change(*handover, found, claim.clone()).await?;
        require_unchanged(target.archive, *handover, claim, found, highest_before).await?;
        role = WriterRole::Mover(claim.revision);
    }
    let writer = RowWriter { target: target.archive, writer: role, cutoff, yields: false };
    let last = Position { pet: compared.last, record: None };
    let (mut copied, before) = (Copied { last, ..Copied::default() }, compared.counts.pets);
    writer.copy(&mut *source, &mut copied, (before, total), on_progress).await?;
    if let Some((handover, claim, found)) = &marked {
        let from = if let Phase::Open { from } = found.phase { from } else { None };
        change(*handover, claim, claim.next(Phase::Open { from })).await?;
    } else {
        // The target holds as many animals as the source, so no other program has written to it.
        let counts = async { target.archive.snapshot().await?.counts().await };
        if counts.await.map_err(TransferError::target)?.pets != total.pets {
            return Err(TransferError::failed(CONCURRENT_WRITE));
        }
    }
    Ok(CopySummary {
        found: before,
        pets: copied.pets,
        keys: copied.keys.len() as u64,
        records: copied.records,
        was_marked: marked.is_some(),
    })
}

fn source_id(state: &StoreState) -> Result<StoreId, TransferError> {
    match &state.phase {
        Phase::Filling { .. } => Err(TransferError::Refused(format!(
            "the source {}",
            state.phase.refusal().unwrap_or_default()
        ))),
        Phase::Open { .. } | Phase::Sealed { .. } => Ok(state.id),
    }
}

/// Refuses a target that was handed over, or that is being filled from another store.
fn require_fillable(target: &StoreState, source: StoreId) -> Result<(), TransferError> {
    let why = match &target.phase {
        _ if target.id == source => {
            Some("is a copy of the files of the source, with its identity".to_owned())
        }
        Phase::Open { .. } => None,
        Phase::Filling { from } if *from == source => None,
        phase @ (Phase::Filling { .. } | Phase::Sealed { .. }) => phase.refusal(),
    };
    why.map_or(Ok(()), |why| Err(TransferError::Refused(format!("the target {why}"))))
}

/// Checks that no other program wrote to the target between the comparison and the claim. If one did, gives the target
/// back.
async fn require_unchanged(
    archive: &dyn Archive,
    handover: &dyn Handover,
    claim: &StoreState,
    found: &StoreState,
    highest_before: HighestIds,
) -> Result<(), TransferError> {
    if !found.phase.is_open() {
        return Ok(());
    }
    let highest = async { archive.snapshot().await?.highest_ids().await };
    let is_same = highest.await.map_err(TransferError::target)? == highest_before;
    let state = handover.state().await.map_err(TransferError::target)?;
    if is_same && state.rewrites == found.rewrites {
        return Ok(());
    }
    change(handover, claim, claim.next(found.phase.clone())).await?;
    Err(TransferError::failed(CONCURRENT_WRITE))
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
