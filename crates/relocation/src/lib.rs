//! Moving from one store to another while services answer from them. `docs/MOVING.md` has the design.
//!
//! [`RelocatingStore`] is what a service works on: the storage ports over the store that it was
//! started with and, during a move, the other one. [`Mover`] is what moves: it copies, follows, and lets the
//! other store decide. Both know stores by their ports alone.
//!
//! # Where things are
//! `decision.rs` says what the rows of both stores mean together; `steps.rs` does what a party that was
//! killed has left undone. The service's part is `store.rs`, `route.rs`, `pets.rs`, `api_keys.rs`, `watch.rs` and `shadow.rs`,
//! the mover's `mover.rs`, `follower.rs`, `flip.rs` and `status.rs`.

mod api_keys;
mod decision;
mod error;
mod fenced;
mod flip;
mod follower;
mod mover;
mod pets;
mod route;
mod shadow;
mod side;
mod status;
mod steps;
mod store;
mod watch;

pub use decision::Place;
pub use error::MoveError;
pub use follower::{MoveProgress, OnProgress};
pub use mover::Mover;
pub use side::{OpenSide, Side};
pub use status::{MoveStatus, Step};
pub use store::RelocatingStore;
pub use watch::Watch;
