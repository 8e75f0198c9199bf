//! Whole stores: the ports [`Archive`] and [`Handover`], and the rules of what a batch may write.

pub(crate) mod archive;
pub(crate) mod handover;
pub(crate) mod resolution;
pub(crate) mod upkeep;

pub use self::{
    archive::{Archive, Batch, RestoreError, Snapshot, StoreCounts, Written},
    handover::{Changes, Handover, Phase, StoreId, StoreState, Writer},
    resolution::Resolution,
    upkeep::{Finding, Severity, Upgrade, UpgradeMode, UpgradeStep},
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    archive::{MockArchive, MockSnapshot},
    handover::MockHandover,
};
