//! The worked example of `docs/ADAPTERS.md`: petstore's storage ports on one append-only file, and the
//! service on them.
//!
//! Waiting writes share one line at the end of the file, and are acknowledged when the line is on the disk. Opening the
//! store reads all lines into memory, which answers every read. So the code is short. The store
//! suits catalogues that fit into memory, and the file only grows.
//!
//! # Where things are
//! `pets.rs`, `keys.rs` and `archive.rs` are the ports. They run on `store.rs`: `journal.rs` is the file,
//! `line.rs` the content of a line, and `state.rs` the state after all lines. `driver.rs` is the entry through which
//! the commands of petstore open the store, and `main.rs` the program.

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
