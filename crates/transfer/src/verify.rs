//! Verifies that two stores hold the same rows.

use petstore_domain::{Archive, Pet, StoreCounts, Timestamp};

use crate::{
    compare::{Pair, Position, cutoff},
    difference::Expect,
    digest::{RangeDigest, Ranges},
    error::TransferError,
    progress::OnProgress,
};

/// The rows of two equal stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifySummary {
    /// The number of rows. Expired idempotency records do not count.
    pub counts: StoreCounts,
    /// A digest of every range of identifiers that holds an animal, ascending.
    pub ranges: Vec<RangeDigest>,
}

/// Compares a snapshot of each store, in any phase:
/// - every field of every animal;
/// - the API keys, except their last use;
/// - the idempotency records that have not expired at `now`;
/// - the highest identifiers ever assigned, which must not be lower in the target.
///
/// # Errors
/// [`TransferError`].
pub async fn verify(
    source: &dyn Archive,
    target: &dyn Archive,
    now: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<VerifySummary, TransferError> {
    let mut ranges = Ranges::default();
    let mut pair = Pair::open(source, target, cutoff(now)).await?;
    let on_pet = |pet: &Pet| ranges.add(pet);
    match pair.compare(Expect::Equal, Position::default(), None, on_pet, on_progress).await {
        Ok(compared) => Ok(VerifySummary { counts: compared.counts, ranges: ranges.finish() }),
        Err(TransferError::OtherData(difference)) => Err(TransferError::Different {
            difference,
            source_counts: pair.source.counts().await.map_err(TransferError::Source)?,
            target_counts: pair.target.counts().await.map_err(TransferError::target)?,
        }),
        Err(error) => Err(error),
    }
}
