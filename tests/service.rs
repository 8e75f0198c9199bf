//! The service: the words of the interface.
//!
//! What depends on the store is tested on each kind of store (`on_stores!`), or on each that
//! outlives a process (`on_stores!`). All else is tested once: in memory, or on a SQLite file
//! where the test needs one.

mod auth;
mod auth_matrix;
mod body;
mod changed_by_sql;
mod compression;
mod conditional;
mod corrupt_key;
mod cors;
mod create;
mod drain;
mod durability;
mod first_run;
mod get;
mod head;
mod http1;
mod http2;
mod hung_disk;
mod idempotency;
mod instances;
mod key_store;
mod keys;
mod list;
mod logs;
mod lost_file;
mod manual;
mod media_type;
mod metrics;
mod mutated;
mod open_files;
mod open_pages;
mod openapi;
mod order_of_checks;
mod orders;
mod page_cache;
mod pages;
mod pooler;
mod query;
mod rates;
mod refusals;
mod refused_rows;
mod reload;
mod request_id;
mod rights;
mod routes;
mod secrets;
mod settings;
mod simulated;
mod size;
mod startup;
mod sunset;
mod syncs;
mod systemd;
mod timeouts;
mod tls;
mod unavailable;
mod unix_socket;
mod walk;
