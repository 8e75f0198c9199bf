//! What a harness says about its adapter.

use crate::{
    Capability, Harness,
    broken::{Checked, ensure},
    fresh::Fresh,
};

/// Only what can be seen from outside: a mark and an archive.
pub(super) async fn what_is_declared_lacking_is_lacking(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::of(harness).await?;
    for (capability, there) in [
        (Capability::Version, fresh.store.pets.version().is_some()),
        (Capability::Archive, fresh.store.archive.is_some()),
    ] {
        let lacking = harness.lacks(capability).is_some();
        ensure!(!(lacking && there), "{capability} is declared lacking, but it is there");
    }
    Ok(())
}
