//! Statements of a harness about its adapter.

use crate::{
    failure::{PromiseResult, ensure},
    fixture::Fixture,
    harness::Capability,
};

/// Contract: the store lacks each capability that the harness declares unsupported.
///
/// Checks the visible capabilities: the version, the archive and the handover.
pub(super) async fn what_is_declared_unsupported_is_not_there(fixture: Fixture) -> PromiseResult {
    for (capability, there) in [
        (Capability::Version, fixture.store().pets.version().is_some()),
        (Capability::Archive, fixture.store().archive.is_some()),
        (Capability::Handover, fixture.store().handover.is_some()),
    ] {
        let declared = fixture.harness.unsupported(capability).is_some();
        ensure!(!(declared && there), "{capability:?} is declared unsupported, but it is there");
    }
    Ok(())
}
