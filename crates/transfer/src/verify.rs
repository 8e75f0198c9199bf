//! Verifying that two stores hold the same.

use petstore_domain::{Archive, Pet, StoreCounts, Timestamp};

use crate::{
    compare::{Expect, compare},
    digest::{RangeDigest, Ranges},
    error::TransferError,
    progress::OnProgress,
};

/// What two equal stores hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How much; of the idempotency records, those that have not expired.
    pub counts: StoreCounts,
    /// A digest of every range of identifiers that holds an animal, ascending.
    pub ranges: Vec<RangeDigest>,
}

/// Compares what two stores hold now: every field of every animal, the API keys but for their last use, and the
/// idempotency records that have not expired at `now`.
///
/// # Errors
/// [`TransferError`].
pub async fn verify(
    from: &dyn Archive,
    to: &dyn Archive,
    now: Timestamp,
    on_progress: OnProgress<'_>,
) -> Result<Verified, TransferError> {
    let mut ranges = Ranges::default();
    let on_pets = |pets: &[Pet]| ranges.add_all(pets);
    let compared = compare((from, to), Expect::Equal, now, on_pets, on_progress).await?;
    Ok(Verified { counts: compared.counts, ranges: ranges.finish() })
}
