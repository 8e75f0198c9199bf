//! Moving a whole store: the ports [`Archive`] and [`Relocatable`], the rules of what a restore may write,
//! and the use cases [`CopyStore`] and [`VerifyStores`].

pub(crate) mod archive;
pub(crate) mod copy;
pub(crate) mod difference;
pub(crate) mod finding;
pub(crate) mod live_records;
pub(crate) mod progress;
pub(crate) mod relocation;
pub(crate) mod resolution;
pub(crate) mod upgrade;
pub(crate) mod verify;

pub use self::{
    archive::{Archive, Restore, RestoreError, Snapshot, StoreCounts},
    copy::{Copied, CopyError, CopyStore},
    difference::Difference,
    finding::{Finding, Severity},
    progress::{OnProgress, TransferProgress, TransferStep},
    relocation::{Changes, Differences, Purged, Relocatable, Relocation, Role, Writer},
    resolution::Resolution,
    upgrade::{Upgrade, UpgradeMode, UpgradeStep},
    verify::{RangeDigest, Verified, VerifyError, VerifyStores},
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    archive::{MockArchive, MockRestore, MockSnapshot},
    relocation::MockRelocatable,
};
