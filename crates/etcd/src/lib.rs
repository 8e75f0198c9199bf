//! The storage ports of petstore on etcd.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use petstore_domain::{PetQuery, PetRepository as _};
//! use petstore_etcd::{EtcdConfig, OpenSettings, EtcdStore};
//!
//! let config = EtcdConfig::parse("etcd://node-1,node-2,node-3/petstore")?;
//! let settings = OpenSettings { create: true, ..OpenSettings::default() };
//! let store = EtcdStore::open(&config, settings).await?;
//! let page = store.list(PetQuery::default()).await?.value;
//! println!("{} animals on the first page", page.pets.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! - An acknowledged write is on the disks of most nodes. Reads are linearizable: every later read through any node
//!   sees the write. A node without a majority answers no call.
//! - Any number of instances may share one prefix. API keys, idempotency records, cursors and versions are valid on
//!   every instance.
//! - Concurrent additions share one transaction (group commit). An addition whose caller has left takes effect whole or
//!   not at all.
//! - A call ends within its deadline ([`EtcdConfig`]). A node that does not answer, or that has no leader, costs one
//!   `request_timeout`; then the next node is asked.
//! - A prefix with another program's entries, or with a store that this release cannot use, is refused and stays
//!   unchanged.
//!
//! # Limits
//! - Every write replaces one entry, the head. So transactions commit one after the other. `limits.rs` says how many
//!   additions one transaction holds.
//! - All data are in the memory and on the disk of each node; etcd's authors advise at most 8 GiB.
//! - A snapshot is a revision. It can be read until etcd compacts that revision away.
//! - Another program that changes entries, such as `etcdctl`, must not change the head. So its changes leave the
//!   version of the catalogue as it is.
//! - The crate uses etcd's JSON gateway, which every node serves on its client port.
//!
//! # Files
//! `pets.rs`, `api_keys.rs`, `archive.rs` and `handover.rs` implement the ports. They read and write through `core.rs`.
//! A write plans its changes in a draft (`draft.rs`). Its transaction takes effect only if the stored head (`head.rs`)
//! is still the head from which the write was planned. Additions go through `writer.rs` first. `rows.rs` defines the
//! entries, `kv.rs` the requests, and `client.rs` sends them. `open.rs` opens a store, and `schema.rs` upgrades one.
//!
//! # Size
//! etcd offers less than a database. So this crate contains code that a SQL store leaves to its server and driver:
//! - a client with failover, deadlines, tokens and TLS (`client.rs`, `kv.rs`, `tls.rs`),
//! - transactions that compare the head, the handling of lost answers, and fairness between processes (`core.rs`,
//!   `head.rs`),
//! - every index as entries of its own (`rows.rs`, `draft.rs`, and `purge_expired` in `pets.rs`).

mod api_keys;
mod archive;
mod client;
mod config;
mod core;
mod draft;
mod error;
mod handover;
mod head;
mod inspection;
mod kv;
mod limits;
mod open;
mod pets;
mod rows;
mod schema;
mod store;
mod tls;
mod writer;

pub use config::EtcdConfig;
pub use error::OpenError;
pub use petstore_storage::{OpenSettings, url::InvalidUrl};
pub use store::EtcdStore;
