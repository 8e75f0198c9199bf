//! Requests: routes, methods, queries, bodies, headers, and the order of the checks.

mod body;
mod compression;
mod conditional;
mod cors;
mod create;
mod get;
mod head;
mod idempotency;
mod media_type;
mod order_of_checks;
mod orders;
mod query;
mod request_id;
mod routes;
mod size;
mod sunset;
