//! The storage ports in memory: the smallest honest adapter.
//!
//! It keeps every promise of [`PetRepository`](petstore_domain::PetRepository),
//! [`KeyStore`](petstore_domain::KeyStore) and
//! [`Archive`](petstore_domain::Archive) but one: what is acknowledged lasts only
//! as long as a handle of the [`MemoryStore`]. So it is the store of tests and of the sandbox
//! `--store memory:`. A method takes one lock, does all its work and returns: it is atomic, it
//! never waits for anything else, and it fails only if no identifier is left or the store is not open.

mod api_keys;
mod archive;
mod handover;
mod pets;

mod state;
mod store;

pub use store::MemoryStore;
