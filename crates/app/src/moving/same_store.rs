//! Both URLs may name one store.

use crate::{driver::StoreLocation, failure::Failure};

/// Refuses one store under two URLs, or under one.
pub(super) async fn refuse_same(
    from: &dyn StoreLocation,
    to: &dyn StoreLocation,
) -> Result<(), Failure> {
    let mut same = from.to_string() == to.to_string();
    if let (false, Some(identity)) = (same, from.identity().await) {
        same = to.identity().await == Some(identity);
    }
    let message = "--from and --to name the same store; name two";
    if same { Err(Failure::usage(message)) } else { Ok(()) }
}
