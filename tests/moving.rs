//! The commands for whole stores: copy, move, verify, check, backup, restore, export and import.
//!
//! Most tests run on each kind of store that outlives a process, or on pairs of kinds.

pub(crate) mod animals;
mod backup;
mod check;
pub(crate) mod commands;
mod everything;
mod export_file;
mod import;
mod interrupted;
mod live;
mod looking;
mod marked;
mod missing;
mod paused;
mod restore;
mod round_trips;
