//! The storage ports on SQLite.
//!
//! ```
//! use petstore_domain::{Added, CategoryId, NewPet, PetName, PetRepository};
//! use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("petstore.db");
//! let store = SqliteStore::open(&SqliteConfig { path, synchronous: Synchronous::Full })?;
//!
//! let name = PetName::parse("Rex")?;
//! let rex = NewPet { name, category_id: CategoryId(1), status: None };
//! // Returns after the commit has reached the disk.
//! let Added::Created(added) = store.add(rex, None).await? else {
//!     unreachable!("there is no idempotency key");
//! };
//! assert_eq!(store.find(added.id).await?.value, Some(added));
//! # Ok(()) }
//! ```
//!
//! # Promises
//! - An acknowledged write is on the disk: the write-ahead log is synchronized before the answer
//!   ([`Synchronous::Full`], unless the operator chooses otherwise).
//! - Each read sees one snapshot, and does not wait for writes. If the runtime has several workers, reads that hang
//!   leave one of them free; further reads run on a few threads of the store, or wait for them.
//! - While the file or its log is missing or replaced, no write is acknowledged.
//! - One thread writes animals and API keys, and queued additions share a transaction (group commit). If a constraint
//!   refuses a row, only the write of that row fails. A write whose caller has left takes effect as a whole or not at
//!   all.
//! - Processes that write to the same file take turns.
//! - These files are refused and stay unchanged:
//!   - a file that is no petstore store,
//!   - a store with a schema that this release cannot use,
//!   - a store beside the log of another store.
//! - Only [`SqliteStore::upgrade`] upgrades an older schema.
//! - [`SqliteStore::open_read_only`] changes no file and leaves no file behind.
//! - A change of an animal by another program, such as the `sqlite3` prompt, changes the catalogue's version, because
//!   the schema has triggers.
//!
//! # Limits
//! - One machine: SQLite's write-ahead log needs shared memory, so the file must be on a local disk. Several processes
//!   on that machine may use one store.
//! - One writer at a time: if a process holds the write lock for more than 3 seconds, waiting writes of other processes
//!   fail with [`StoreError`](petstore_domain::StoreError).
//! - Unix only: a new file can be read and written by its owner alone (mode 0600).
//! - A *running* store must be copied through SQLite ([`SqliteStore::back_up`]), never as a file: its newest
//!   transactions are in the `-wal` file beside it.
//!
//! # Files
//! | file | content |
//! |---|---|
//! | `pets.rs`, `api_keys.rs`, `archive.rs`, `handover.rs` | the ports |
//! | `readers.rs`, `readers/queue.rs` | reads, and their connections and threads |
//! | `writer.rs` | the writing thread |
//! | `version.rs`, `readers/watch.rs` | the catalogue's version, and the thread that polls it |
//! | `open.rs`, `connection.rs`, `presence.rs` | opening a store, and the check that its files are still there |
//! | `store.rs`, `config.rs`, `error.rs` | the store, its settings and its errors |
//! | `schema.rs`, `upgrade.rs` | schema versions |
//! | `backup.rs`, `inspection.rs` | copying and checking a store |

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
mod presence;
mod readers;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod upgrade;
mod version;
mod writer;

pub use backup::BackupError;
pub use config::{SqliteConfig, Synchronous};
pub use connection::beside;
pub use error::OpenError;
pub use store::{SqliteSettings, SqliteStore};
pub use writer::Activity;
