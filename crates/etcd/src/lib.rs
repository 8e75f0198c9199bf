//! The storage ports on etcd.
//!
//! # What it promises
//! - An acknowledged write is on the disks of most nodes, and every later read, through whatever node, sees it: reads
//!   are linearizable. A node that is cut off from most others answers nothing.
//! - Any number of instances may share one prefix: keys, idempotency records, cursors and versions
//!   hold on all of them.
//! - Concurrent additions share one transaction (group commit). An addition
//!   whose caller has gone away still happens whole or not at all.
//! - A call ends within its deadline ([`EtcdConfig`]) whatever the network does. A node that does not answer, or
//!   that has no leader, costs one `request_timeout`; then the next one is asked.
//! - A prefix that holds keys of others is refused and not touched, and so is a store that this release cannot use.
//!
//! # Its limits
//! - Every write replaces one entry, the head, so that the store takes as many transactions a second as etcd
//!   commits one after the other; each holds up to 126 additions, or 42 with idempotency keys and a status.
//! - All data are in the memory and on the disk of each node: etcd's authors advise at most 8 GiB.
//! - A snapshot is a revision: it can be read until etcd compacts that away.
//! - Who changes entries otherwise, with `etcdctl`, must not change the head; the version does not tell of it.
//! - It speaks to etcd's JSON gateway, which every node has on its client port.
//!
//! # Where things are
//! [`PetRepository`](petstore_domain::PetRepository) is in `pets.rs`,
//! [`KeyStore`](petstore_domain::KeyStore) in `api_keys.rs` and
//! [`Archive`](petstore_domain::Archive) in `archive.rs`,
//! [`Handover`](petstore_domain::Handover) in `handover.rs`. Each reads and writes through `core.rs`, which compares
//! `head.rs`; additions go through `writer.rs` first. `rows.rs` says which keys there are, `kv.rs` how they are asked
//! for, and `client.rs` whom. `open.rs` leads from a URL to a store.

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
