//! The commands for whole stores: copy, move, verify, release, check, backup, restore, export and import.
//!
//! Many tests run on each kind of store that outlives a process, or on pairs of kinds. Most others use SQLite files.

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
