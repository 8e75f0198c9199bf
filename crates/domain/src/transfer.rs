//! Whole stores: the driven ports [`Archive`] and [`Handover`], and the rules for their rows.

pub(crate) mod archive;
pub(crate) mod handover;
pub(crate) mod resolution;

pub use self::{
    archive::{Archive, ArchiveError, HighestIds, RecordPosition, Rows, Snapshot, StoreCounts},
    handover::{Handover, Phase, StoreId, StoreState, WriterRole},
    resolution::Resolution,
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    archive::{MockArchive, MockSnapshot},
    handover::MockHandover,
};
