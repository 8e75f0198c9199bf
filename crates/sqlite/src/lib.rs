//! The storage ports on SQLite.
//!
//! # What it promises
//! - An acknowledged write is on the disk: the write-ahead log is synchronised before anyone is
//!   answered ([`Synchronous::Full`], unless the operator chose otherwise).
//! - Each read is a task of its own in one snapshot, and does not wait for writes. Reads that hang leave one
//!   worker of the runtime free, which is that of whoever opened the store; further reads wait for threads.
//! - When the file or its log is removed or replaced, nothing more is acknowledged.
//! - Writes go through one thread, and all that wait share one transaction (group commit). A row that a
//!   constraint refuses fails its own write alone. A write whose caller has gone away happens whole or not at
//!   all; it is dropped if its statements have not begun.
//! - Processes that write to one file take turns.
//! - A file that is not a petstore store is refused and not touched, and so is one whose schema this
//!   release cannot use, or beside which the log of another store lies. An older schema is upgraded only by
//!   [`SqliteStore::upgrade`].
//! - A file that is opened to be read ([`SqliteStore::open_read_only`]) is not changed, and nothing is left
//!   beside it.
//! - A change of an animal by another program, such as the `sqlite3` prompt, changes the catalogue's version:
//!   triggers of the schema do that.
//!
//! # Its limits
//! - One machine: SQLite's write-ahead log needs memory that all processes share, so the file must
//!   be on a local disk. Several processes on that machine may use one store.
//! - One writer at a time: a process that holds the write lock for seconds makes others answer
//!   [`StoreError`](petstore_domain::StoreError).
//! - Unix: the file is created only for its owner (mode 0600).
//! - A copy of a *running* store must be made through SQLite ([`SqliteStore::back_up`]), never by
//!   copying the file: the newest transactions are in the `-wal` file beside it.
//!
//! # Where things are
//! [`PetRepository`](petstore_domain::PetRepository) is in `pets.rs`,
//! [`KeyStore`](petstore_domain::KeyStore) in `api_keys.rs`,
//! [`Archive`](petstore_domain::Archive) in `archive.rs`,
//! [`Handover`](petstore_domain::Handover) in `handover.rs`. The first two run their SQL through
//! `readers.rs` (with `readers/queue.rs` and `pool.rs`) and `writer.rs`. `open.rs` is the way from a path to a store; `schema.rs` has the versions of
//! the schema, and `upgrade.rs` leads from one to the next. `version.rs` reads and renews the catalogue's
//! version, and `readers/watch.rs` reads it again beside the requests, for the shared version cache.
//! `presence.rs` notices files that are gone. `backup.rs` copies a store in use, `inspection.rs` checks one.

mod activity;
mod api_keys;
mod archive;
mod backup;
mod config;
mod connection;
mod error;
mod handover;
mod inspection;
mod open;
mod pets;
mod pool;
mod presence;
mod readers;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod upgrade;
mod version;
mod writer;

pub use activity::Activity;
pub use backup::{BackupError, BackupProgress};
pub use config::{SqliteConfig, Synchronous};
pub use error::open::OpenError;
pub use store::{SqliteSettings, SqliteStore};
