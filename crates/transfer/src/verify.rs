//! Verifies that two stores hold the same rows.

use petstore_domain::{Archive, StoreCounts, Timestamp};

use crate::{
    compare::{Pair, Position},
    difference::Expect,
    error::TransferError,
    progress::OnProgress,
};

/// Compares a snapshot of each store, in any phase. Returns the number of rows, without expired idempotency records.
/// Compares:
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
) -> Result<StoreCounts, TransferError> {
    let mut pair = Pair::open(source, target, now).await?;
    match pair.compare(Expect::Equal, Position::default(), on_progress).await {
        Ok(compared) => Ok(compared.counts),
        Err(TransferError::OtherData(difference)) => Err(TransferError::Different(difference)),
        Err(error) => Err(error),
    }
}
