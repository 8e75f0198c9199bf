//! Requests: routes, methods, queries, bodies, headers, and the order of the checks.

mod idempotency;
mod rules;
mod size;
