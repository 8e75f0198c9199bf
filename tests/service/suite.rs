// The modules of the suite, for each of its crate roots: `main.rs` runs it on SQLite, `on_memory.rs`
// and `on_postgres.rs` on the stores that they name.

mod support;

mod auth;
mod body;
mod conditional;
mod create;
mod drain;
mod durability;
mod first_run;
mod get;
mod head;
mod http1;
mod http2;
mod idempotency;
mod judgement;
mod key_store;
mod keys;
mod list;
mod logs;
mod media_type;
mod open_pages;
mod orders;
mod query;
mod request_id;
mod routes;
mod size;
mod startup;
mod sunset;
mod timeouts;
mod unavailable;
mod walk;
