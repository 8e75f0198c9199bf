//! Whole stores: [`copy`], [`verify`], and handing one over to another while services use it (`docs/STORES.md`).
//!
//! [`Mover`] is the command: it copies, follows what is added meanwhile, seals the old store, copies the rest,
//! compares, and opens the new one. Nobody else changes the state of a store. [`CurrentStore`] is the ports of a service:
//! with a next store, its [`Poller`] goes over to whichever store is open. Both know stores only by their ports.

mod compare;
mod copy;
mod difference;
mod digest;
mod error;
mod mover;
mod progress;
mod rows;
mod store_ports;
mod switch;
mod verify;

pub use self::{
    copy::{CopyPorts, CopySummary, copy},
    difference::Difference,
    digest::RangeDigest,
    error::TransferError,
    mover::{MoveOutcome, MovePreview, Mover, release},
    progress::{OnProgress, TransferProgress, TransferStep},
    store_ports::StorePorts,
    switch::{CurrentStore, NextStoreOpener, Poller},
    verify::{VerifySummary, verify},
};
