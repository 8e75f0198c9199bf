//! Copies, verifies and hands over stores, only through their ports (`docs/STORES.md`).
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use petstore_domain::{PetRepository as _, Timestamp, mocks::new_pet};
//! use petstore_memory::MemoryStore;
//! use petstore_transfer::{CopyPorts, copy, verify};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (old, new) = (MemoryStore::new(), MemoryStore::new());
//! old.add(new_pet("Rex"), None).await?;
//!
//! let [source, target] =
//!     [&old, &new].map(|store| CopyPorts { archive: store, handover: Some(store) });
//! let mut on_progress = |_| ControlFlow::Continue(());
//! let copied = copy(source, target, Timestamp(0), &mut on_progress).await?;
//! assert_eq!(copied.pets, 1);
//!
//! let equal = verify(&old, &new, Timestamp(0), &mut on_progress).await?;
//! assert_eq!(equal.pets, 1);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Mover`] hands a store over while services use it. Each store records whether it is open, sealed or being filled.
//! Services read this state, and never change it. [`CurrentStore`] implements the ports of a service; its [`Poller`] polls
//! the states of two stores, and selects the open one.

mod compare;
mod copy;
mod difference;
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
    error::TransferError,
    mover::{MoveOutcome, MovePreview, Mover, release},
    progress::{OnProgress, TransferProgress, TransferStep},
    store_ports::StorePorts,
    switch::{CurrentStore, NextStoreOpener, Poller},
    verify::verify,
};
