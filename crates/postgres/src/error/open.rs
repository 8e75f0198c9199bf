//! Errors of opening and upgrading a store.

use petstore_domain::StoreError;
use petstore_storage::{SchemaError, opening_error, tls::TlsFailure};
use tokio_postgres::error::SqlState;

use super::StoreFailure;
use crate::config::PostgresConfig;

/// A store could not be opened or upgraded. The message is one line with the cause and its repair, without the
/// password.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    config: PostgresConfig,
    reason: Reason,
}

/// The reason why a store could not be opened or upgraded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{failure}{remedy}", failure = .0, remedy = remedy(.0))]
    Store(#[from] StoreFailure),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("no petstore store is in it")]
    Missing,
    #[error("{0}; other sessions hold locks on its tables: try again later")]
    Locked(StoreFailure),
    /// The database cannot be used. The text has the cause and its repair.
    #[error("{0}")]
    Unusable(String),
}

impl OpenError {
    pub(crate) fn new(config: &PostgresConfig, reason: Reason) -> Self {
        Self { config: config.clone(), reason }
    }

    /// Returns whether the reason is that there is no store.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }
}

/// Converts to [`StoreError::Unavailable`] if opening may succeed later without a change by the operator:
/// - no server that takes writes can be reached,
/// - the server starts or stops,
/// - other sessions hold locks on the tables.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = matches!(&error.reason, Reason::Locked(_))
            || matches!(&error.reason, Reason::Store(failure) if failure.is_transient());
        opening_error(error, may_pass)
    }
}

/// The error of a row's value that cannot be read.
impl From<tokio_postgres::Error> for Reason {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Returns a remedy for the operator, which begins with `; `, or nothing.
fn remedy(failure: &StoreFailure) -> &'static str {
    let is_connecting = matches!(failure, StoreFailure::Connect(_));
    match failure.sql_state() {
        Some(state) if is_connecting && state.code().starts_with("28") => {
            "; fix the user or the password, or what the server's pg_hba.conf says of them"
        }
        Some(&SqlState::UNDEFINED_DATABASE) => "; create it with CREATE DATABASE, or name another",
        Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            "; wait, or raise max_connections of the server, or lower pool_size"
        }
        _ if failure.lacks_tls() => {
            "; enable TLS on the server, or write ?sslmode=disable if the network can be trusted"
        }
        _ if is_connecting => {
            "; check that a server that takes writes runs there, and that the address is right"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if failure.to_string().contains("for database") => {
            "; make the schema for this role, or grant it CREATE on the database"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if failure.to_string().contains("for schema") => {
            "; grant this role CREATE on the schema, or name another with ?schema=NAME"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "; grant this role the rights of docs/POSTGRES.md on the tables and the sequence"
        }
        // PgBouncer refuses BEGIN like this.
        Some(&SqlState::PROTOCOL_VIOLATION)
            if failure.to_string().contains("statement pooling") =>
        {
            "; the pooler in front of it lends a session for one statement: set its pool_mode to \
             transaction or session"
        }
        _ => "",
    }
}
