//! An adapter as somebody wrote it when the ports were frozen, in memory. It stays as it is: what a release changes in
//! the ports must leave it compiling, and keeping the contract. `tests/upgrades/released.rs` holds that no file of it
//! is changed.

mod api_keys;
mod archive;
mod handover;
mod pets;
mod state;
mod store;

pub use store::KeptStore;
