//! Moving a catalogue between stores with the real binary: copy, verify, export, import.
//!
//! Every test runs on each kind of store, or from each kind to each kind, that `kinds.rs` names.

mod animals;
mod backup;
mod check;
mod commands;
mod copy;
mod export;
mod export_file;
mod import;
mod interrupted;
mod kinds;
mod live;
mod looking;
mod missing;
mod paused;
mod round_trips;
