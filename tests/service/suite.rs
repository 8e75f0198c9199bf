// The modules of the suite for the crate roots beside `main.rs`, which lists them itself: rustfmt does
// not look into what is included. A test in `tests/architecture` holds the two lists together.

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
mod openapi;
mod orders;
mod page_cache;
mod pages;
mod query;
mod request_id;
mod routes;
mod size;
mod startup;
mod sunset;
mod timeouts;
mod unavailable;
mod walk;
