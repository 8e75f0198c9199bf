//! Whole stores: [`copy`], [`verify`], and handing one over to another while services use it (`docs/STORES.md`).
//!
//! [`Mover`] is the command: it copies, follows what is added meanwhile, seals the old store, copies the rest,
//! compares, and opens the new one. Nobody else changes the state of a store. [`NextStore`] is what a service has that
//! was started with a next store: the storage ports over two stores. Both know stores only by their ports.

mod compare;
mod copy;
mod difference;
mod digest;
mod error;
mod mover;
mod next_store;
mod progress;
mod side;
mod verify;

pub use self::{
    copy::{Copied, copy},
    difference::Difference,
    digest::RangeDigest,
    error::{MoveError, TransferError},
    mover::{Mover, cancel, release},
    next_store::{NextStore, OpenNext},
    progress::{OnProgress, TransferProgress, TransferStep},
    side::Side,
    verify::{Verified, verify},
};
