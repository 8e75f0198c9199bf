//! Requests: routes, methods, queries, bodies, headers, and the order of the checks.

mod cors;
mod idempotency;
mod rules;
mod size;
