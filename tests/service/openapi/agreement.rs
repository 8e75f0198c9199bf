//! The service and the document accept the same input.

use serde_json::Value;

use crate::support::{
    answer::Answer,
    server::{Launch, Server},
    store::Store,
};

/// A server for many requests: bounds are judged before any store is asked.
#[track_caller]
pub(super) fn sandbox() -> (Store, Server) {
    let store = Store::memory();
    let server = Launch::on(&store).start();
    (store, server)
}

/// A bound of a schema, with room on both sides.
#[track_caller]
pub(super) fn integer(schema: &Value, bound: &str) -> i128 {
    schema[bound].as_i64().unwrap_or_else(|| panic!("{bound}: {schema}")).into()
}

/// Holds that the service takes a request exactly if the document does.
#[track_caller]
pub(super) fn agree(by_document: &Result<(), String>, answer: Answer, status: u16, code: &str) {
    match by_document {
        Ok(()) => answer.is(status),
        Err(_) => answer.refuses(400, code),
    };
}
