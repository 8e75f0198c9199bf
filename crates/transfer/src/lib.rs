//! Handing a store over to another one while services use it (`docs/MOVING.md`).
//!
//! [`Mover`] is the command: it copies, follows what is added meanwhile, seals the old store, copies the rest,
//! compares, and opens the new one. It alone changes the state of a store. [`NextStore`] is what a service has that
//! was started with a next store: the storage ports over two stores. Both know stores by their ports alone.

mod error;
mod mover;
mod next_store;
mod side;

pub use self::{
    error::MoveError,
    mover::{Mover, cancel, release},
    next_store::{NextStore, OpenNext},
    side::Side,
};
