//! The service and the document accept the same input.

use serde_json::Value;

use crate::support::{
    answer::Answer,
    server::{Launch, Server},
    store::Store,
};

/// Starts a server for many requests. The service checks bounds before it asks a store.
#[track_caller]
pub(super) fn sandbox() -> (Store, Server) {
    let store = Store::memory();
    let server = Launch::on(&store).start();
    (store, server)
}

/// Returns a bound of a schema, in a type with room on both sides.
#[track_caller]
pub(super) fn integer(schema: &Value, bound: &str) -> i128 {
    schema[bound].as_i64().unwrap_or_else(|| panic!("{bound}: {schema}")).into()
}

/// Asserts that the service accepts a request exactly if the document does.
#[track_caller]
pub(super) fn agree(by_document: &Result<(), String>, answer: Answer, status: u16, code: &str) {
    match by_document {
        Ok(()) => answer.is(status),
        Err(_) => answer.refuses(400, code),
    };
}
