//! An adapter of the storage ports as they were frozen with petstore 2.0, in memory. It stays as it is: a release that
//! changes the ports must leave it compiling, and keeping the contract. `tests/upgrades/released.rs` holds that
//! none of its files is changed.

mod api_keys;
mod archive;
mod handover;
mod pets;
mod state;
mod store;

pub use store::KeptStore;
