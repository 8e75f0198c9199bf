//! The simulations of `docs/SCALE.md`: additions by many instances on one cluster, and what caches in
//! front save. Every random number comes from a fixed seed, so a run gives the same each time.

mod additions;
mod caches;

pub use additions::{Additions, Outcome};
pub use caches::Caches;
