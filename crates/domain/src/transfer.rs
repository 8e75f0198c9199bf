//! Whole stores: the driven ports [`Archive`] and [`Handover`], and the rules for their rows.

pub(crate) mod archive;
pub(crate) mod handover;
pub(crate) mod resolution;

pub use self::{archive::*, handover::*, resolution::*};
