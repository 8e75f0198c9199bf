//! The storage ports of petstore on PostgreSQL.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use petstore_domain::{PetQuery, PetRepository as _};
//! use petstore_postgres::{PostgresConfig, PostgresStore};
//!
//! let config = PostgresConfig::parse("postgres://petstore:secret@db.example/petstore")?;
//! let store = PostgresStore::connect(&config).await?;
//! let page = store.list(PetQuery::default()).await?.value;
//! println!("{} animals on the first page", page.pets.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! - An acknowledged write is as durable as the server's `synchronous_commit` makes it. If that setting is `off`, this
//!   crate turns it on for its sessions. A commit whose wait for a standby was canceled is not acknowledged.
//! - Any number of instances may share one database. API keys, idempotency records, cursors and versions are valid on
//!   every instance.
//! - Concurrent additions share one transaction and its round trip (group commit). If the caller of an addition leaves
//!   before its group starts, the addition has no effect. If the caller leaves later, the addition takes effect as a
//!   whole or not at all.
//! - If the server permanently refuses a row, only the addition of that row fails, not the rest of its group.
//! - New identifiers become visible in ascending order, whichever instance assigned them: once a read has returned an
//!   identifier, no smaller new identifier appears. Every writer locks the one row of `petstore_state` before it draws
//!   an identifier. Changes of API keys and purges of idempotency records lock that row too.
//! - Reads stay fast beside a snapshot that is open for hours (`version.rs`).
//! - A read or an addition ends within `call_timeout` ([`PostgresConfig`]). Calls succeed again, without a restart, as
//!   soon as a server that takes writes can be reached.
//! - These databases are refused and stay unchanged: a database in which another program has tables with petstore's
//!   names, and a store with a schema that this release cannot use. Only [`PostgresStore::upgrade`] upgrades an older
//!   schema.
//! - Every change of an animal changes the catalogue's version. For changes by other programs, such as `psql`, a
//!   trigger does this.
//!
//! # Limits
//! - If the connection breaks during a commit, an addition without an idempotency key fails with
//!   [`StoreError`](petstore_domain::StoreError), and may have happened. An addition with an idempotency key is tried
//!   again.
//! - Each batch of an import or a copy locks out other writers. If its process sends nothing for 3 seconds, the server
//!   ends the batch.
//! - The SQL needs PostgreSQL 12 or newer. The tests run on 12, 15 and 18.
//! - A pooler must lend a session for at least a whole transaction.
//!
//! # Files
//! `pets.rs`, `api_keys.rs`, `archive.rs` and `handover.rs` implement the ports. Additions run through `writer.rs`, all
//! other calls through `pool.rs`. `connector.rs` makes the connections (`connection.rs`). `open.rs` opens a store.
//! `schema.rs` has the schema versions, and `upgrade.rs` runs the steps between them. `sequences.rs` raises the
//! sequence of identifiers if it is behind the rows. `version.rs` reads the catalogue's version. `inspection.rs` has
//! the checks of `petstore check`.

mod api_keys;
mod archive;
mod config;
mod connection;
mod connector;
mod error;
mod handover;
mod inspection;
mod open;
mod pets;
mod pool;
mod schema;
mod sequences;
mod store;
mod tls;
mod upgrade;
mod values;
mod version;
mod writer;

pub use config::PostgresConfig;
pub use error::OpenError;
pub use petstore_storage::{OpenSettings, url::InvalidUrl};
pub use pool::Activity;
pub use store::PostgresStore;
