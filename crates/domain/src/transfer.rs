//! Whole stores: the ports [`Archive`] and [`Handover`], and the rules of what a batch may write.

pub(crate) mod archive;
pub(crate) mod finding;
pub(crate) mod handover;
pub(crate) mod resolution;
pub(crate) mod upgrade;

pub use self::{
    archive::{Archive, Batch, RestoreError, Snapshot, StoreCounts, Written},
    finding::{Finding, Severity},
    handover::{Changes, Handover, Phase, StoreId, StoreState, Writer},
    resolution::Resolution,
    upgrade::{Upgrade, UpgradeMode, UpgradeStep},
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    archive::{MockArchive, MockSnapshot},
    handover::MockHandover,
};
