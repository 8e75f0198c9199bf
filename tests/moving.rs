//! Moving a catalogue between stores with the real binary: copy, verify, export, import.
//!
//! Most tests run on each kind of store that outlives a process, or from each kind to each kind.

pub(crate) mod animals;
mod backup;
mod check;
pub(crate) mod commands;
mod everything;
mod export;
mod export_file;
mod import;
mod interrupted;
mod live;
mod looking;
mod marked;
mod missing;
mod next_store;
mod paused;
mod restore;
mod round_trips;
