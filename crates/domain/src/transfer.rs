//! Whole stores: the ports [`Archive`] and [`Handover`], the rules of what a restore may write,
//! and the use cases [`CopyStore`] and [`VerifyStores`].

pub(crate) mod archive;
pub(crate) mod copy;
pub(crate) mod difference;
pub(crate) mod finding;
pub(crate) mod handover;
pub(crate) mod live_records;
pub(crate) mod progress;
pub(crate) mod resolution;
pub(crate) mod upgrade;
pub(crate) mod verify;

pub use self::{
    archive::{Archive, Batch, RestoreError, Snapshot, StoreCounts, Written},
    copy::{Copied, CopyError, CopyStore},
    difference::Difference,
    finding::{Finding, Severity},
    handover::{Changes, Handover, Phase, StoreId, StoreState, Writer},
    progress::{OnProgress, TransferProgress, TransferStep},
    resolution::Resolution,
    upgrade::{Upgrade, UpgradeMode, UpgradeStep},
    verify::{RangeDigest, Verified, VerifyError, VerifyStores},
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    archive::{MockArchive, MockSnapshot},
    handover::MockHandover,
};
