//! Requests: routes, methods, queries, bodies, headers, and the order of the checks.

mod conditional;
mod cors;
mod create;
mod idempotency;
mod rules;
mod size;
