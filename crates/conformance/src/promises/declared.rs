//! What a harness says about its adapter.

use crate::{
    broken::{Checked, ensure},
    fresh::Fresh,
    harness::Capability,
};

/// Contract: what a harness declares unsupported is not there.
///
/// Looks at what can be seen from outside: a version, an archive, and a part in moves.
pub(super) async fn what_is_declared_unsupported_is_not_there(fresh: Fresh) -> Checked {
    for (capability, there) in [
        (Capability::Version, fresh.store.pets.version().is_some()),
        (Capability::Archive, fresh.store.archive.is_some()),
        (Capability::Handover, fresh.store.handover.is_some()),
    ] {
        let declared = fresh.harness.unsupported(capability).is_some();
        ensure!(!(declared && there), "{capability} is declared unsupported, but it is there");
    }
    Ok(())
}
