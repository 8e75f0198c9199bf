//! The storage ports on PostgreSQL, and on what speaks its protocol.
//!
//! # What it promises
//! - An acknowledged write is as durable as the server's `synchronous_commit` makes it; where that
//!   is `off`, this crate turns it on for its own sessions. A commit whose wait for a standby was
//!   canceled is not acknowledged.
//! - Any number of instances may share one database: keys, idempotency records, cursors and versions
//!   hold on all of them.
//! - Concurrent additions share one transaction and its round trip (group commit). An addition
//!   whose caller has gone away happens whole or not at all, and not at all if its group has not begun.
//! - A row that the server refuses for good fails its own addition and no other of its group.
//! - Identifiers that the store assigns can be read in ascending order, whatever instance has assigned them: each
//!   writer locks the one row of `petstore_state` before it draws any, and whoever changes or purges what it may meet
//!   locks that row first too.
//! - Reads stay as fast beside a snapshot that is kept open for hours (`version.rs`).
//! - A call ends within its deadline ([`PostgresConfig`]) whatever the network does, and works
//!   again by itself once a server that takes writes can be reached.
//! - A database that holds other tables under our names is refused and not touched, and so is one whose
//!   schema this release cannot use. An older schema is upgraded only by [`PostgresStore::upgrade`].
//! - Whoever changes an animal, a person at the `psql` prompt too, changes the catalogue's version: a
//!   trigger of the schema does.
//!
//! # Its limits
//! - When the connection breaks while a commit is under way, an addition without an idempotency key
//!   is answered by [`StoreError`](petstore_domain::StoreError), and may have happened. One with a
//!   key is tried again.
//! - A batch that keeps others from writing and sends nothing for 3 seconds is ended by the server.
//! - Tried on PostgreSQL 15 and 18. The SQL is that of PostgreSQL 12 and newer.
//! - A pooler must lend a session for a whole transaction at least.
//!
//! # Where things are
//! [`PetRepository`](petstore_domain::PetRepository) is in `pets.rs`,
//! [`KeyStore`](petstore_domain::KeyStore) in `api_keys.rs` and
//! [`Archive`](petstore_domain::Archive) in `archive.rs`,
//! [`Handover`](petstore_domain::Handover) in `handover.rs`. Reads and changes of keys run through
//! `pool.rs`, additions through `writer.rs`. `open.rs` leads from a URL to a store, and drops the tables
//! of an empty one; `schema.rs` has the versions of the schema, and `upgrade.rs` leads from one to the
//! next; `sequences.rs` raises a sequence
//! that is behind the rows.

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
mod rights;
mod schema;
mod sequences;
mod store;
mod tls;
mod upgrade;
mod values;
mod version;
mod writer;

pub use config::{PostgresConfig, SslMode};
pub use error::open::OpenError;
pub use petstore_storage::url::InvalidUrl;
pub use pool::Activity;
pub use store::{PostgresSettings, PostgresStore};
