//! Requests: their size, refusals before the body, and idempotency keys. The rules for requests are tested beside the code
//! (`crates/json/src/reader/tests.rs`, `crates/http/src/answer/tests.rs`); `openapi` sends requests according to the document.

mod idempotency;
mod size;
