//! Moving from one store to another while services answer from them. `docs/MOVING.md` has the design.
//!
//! [`RelocatingStore`] is what a service works on: the storage ports over the store that it was
//! started with and, during a move, the other one. [`Mover`] is what moves: it copies, follows, and lets the
//! other store decide. Both know stores by their ports alone.
//!
//! # Where things are
//! `decision.rs` says what the rows of both stores mean together; `steps.rs` completes or undoes a flip that was
//! left half done. The service's part is `store.rs`: which store decides (`route.rs`,
//! `current_route.rs`, `peer.rs`, `watch.rs`), calls to it (`calls.rs`, `pets.rs`, `api_keys.rs`), and shadow reads
//! (`shadow.rs`). The mover's part is `mover.rs`, with a file for each step (`begin.rs`, `follower.rs`, `flip.rs`,
//! `finish.rs`) and `status.rs`.

mod api_keys;
mod begin;
mod calls;
mod current_route;
mod decision;
mod error;
mod fenced;
mod finish;
mod flip;
mod follower;
mod mover;
mod peer;
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
