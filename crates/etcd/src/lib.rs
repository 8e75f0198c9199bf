//! The storage ports on etcd.
//!
//! # What it promises
//! - An acknowledged write is on the disks of most nodes, and every later read through any node sees it: reads are
//!   linearizable. A node that is cut off from most others answers nothing.
//! - Any number of instances may share one prefix: keys, idempotency records, cursors and versions
//!   hold on all of them.
//! - Concurrent additions share one transaction (group commit). An addition whose caller has gone away happens whole or
//!   not at all.
//! - A call ends within its deadline ([`EtcdConfig`]) whatever the network does. A node that does not answer, or
//!   that has no leader, costs one `request_timeout`; then the next one is asked.
//! - A prefix with keys of another program is refused and not touched, and so is a store that this release cannot use.
//!
//! # Its limits
//! - Every write replaces one entry, the head, so the store takes as many transactions a second as etcd commits one
//!   after the other. How many additions a transaction holds, and why they are nested in it, `limits.rs` says.
//! - All data are in the memory and on the disk of each node: etcd's authors advise at most 8 GiB.
//! - A snapshot is a revision: it can be read until etcd compacts that revision away.
//! - A program that changes entries by itself, such as `etcdctl`, must not change the head. The version does not show its
//!   changes.
//! - It uses etcd's JSON gateway, which every node has on its client port.
//!
//! # Where things are
//! [`PetRepository`](petstore_domain::PetRepository) is in `pets.rs`, [`KeyStore`](petstore_domain::KeyStore) in
//! `api_keys.rs`, [`Archive`](petstore_domain::Archive) in `archive.rs` and
//! [`Handover`](petstore_domain::Handover) in `handover.rs`. They read and write through `core.rs`: a write fills a
//! `draft.rs`, and its transaction compares `head.rs`. Additions go through `writer.rs` first. `rows.rs` defines the
//! entries, `kv.rs` the requests, and `client.rs` sends them. `open.rs` opens a store, `schema.rs` upgrades it.
//!
//! # Why its size
//! etcd offers less than a database, so this crate has code that a SQL store leaves to its server and its driver: a
//! client with failover, deadlines, tokens and TLS (`client.rs`, `kv.rs`, `tls.rs`), transactions by comparison with
//! lost answers and fairness between processes (`core.rs`, `head.rs`), and every index as entries of its own (`rows.rs`,
//! `draft.rs`, the purge).

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
pub use petstore_storage::url::InvalidUrl;
pub use store::{EtcdSettings, EtcdStore};
