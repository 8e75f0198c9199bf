//! The worked example of `docs/ADAPTERS.md`: petstore's storage ports on one append-only file, and the
//! service on them.
//!
//! Writes that wait share one line at the end of the file, and are acknowledged when the disk has the line. Opening the
//! store reads all lines again into memory, where every read is answered. So it is small and durable, and meant for
//! catalogues that fit into memory; the file only grows.
//!
//! # Where things are
//! `pets.rs`, `keys.rs` and `archive.rs` are the ports. They run on `store.rs`: `journal.rs` is the file,
//! `line.rs` the content of a line, and `state.rs` the state that all lines add up to. `driver.rs` is the entry by which
//! the commands of petstore know the store, and `main.rs` the program.

mod archive;
mod driver;
mod journal;
mod keys;
mod line;
mod pets;
mod state;
mod store;

pub use driver::{FILE_STORES, WITHOUT_ARCHIVE};
pub use journal::Access;
pub use store::FileStore;
