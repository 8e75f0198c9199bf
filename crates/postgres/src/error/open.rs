//! Why a store is not opened or upgraded.

use petstore_domain::StoreError;
use petstore_storage::{SchemaError, opening_error, tls::TlsFailure};
use tokio_postgres::error::SqlState;

use super::StoreFailure;
use crate::config::PostgresConfig;

/// A store could not be opened or upgraded. One line says why, and how to fix it; the password is not in it.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    config: PostgresConfig,
    reason: Reason,
}

/// The fault of the server, the database or its tables.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{failure}{remedy}", failure = .0, remedy = remedy(.0))]
    Store(#[from] StoreFailure),
    #[error("{0}; this role lacks rights that serving needs: {1}")]
    Rights(StoreFailure, String),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error(
        "its encoding is {0}, which cannot hold every name; \
         use a database made with ENCODING 'UTF8'"
    )]
    Encoding(String),
    #[error(
        "no schema is there to hold the tables that this role may use: GRANT USAGE ON SCHEMA, or name another with \
         ?schema=NAME"
    )]
    NoSchema,
    #[error(
        "row level security hides rows of the table '{0}' from this role: ALTER ROLE … BYPASSRLS, or ALTER TABLE {0} \
         DISABLE ROW LEVEL SECURITY"
    )]
    RowSecurity(String),
    #[error("no petstore store is in it")]
    Missing,
    #[error(
        "it holds {0} of another program; it was left untouched: \
         name another database, or a schema with ?schema=NAME"
    )]
    Foreign(String),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(
        "{0}; its schema is older than this petstore needs, and only the owner of its tables can upgrade it: \
         'petstore upgrade --store postgres://OWNER@…'"
    )]
    NotOwner(StoreFailure),
    #[error("{0}; other sessions keep its tables locked: try again later")]
    Locked(StoreFailure),
}

impl OpenError {
    pub(crate) fn new(config: &PostgresConfig, reason: Reason) -> Self {
        Self { config: config.clone(), reason }
    }

    /// Returns whether there is no store yet, so that another way of opening would create one.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }

    /// Returns whether opening may succeed later though nobody changes the URL or the database: no server can be
    /// reached that takes writes, it starts or stops, or others keep its tables locked.
    fn is_transient(&self) -> bool {
        matches!(&self.reason, Reason::Locked(_))
            || matches!(&self.reason, Reason::Store(failure) if failure.is_transient())
    }
}

/// Unavailable if opening may succeed later, else refused.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = error.is_transient();
        opening_error(error, may_pass)
    }
}

/// A value of a row that cannot be read.
impl From<tokio_postgres::Error> for Reason {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Returns what an operator can do about the failure.
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
            "; enable TLS on the server, or say ?sslmode=disable where the network may be trusted"
        }
        _ if is_connecting => {
            "; see that a server that takes writes runs there, and that the address is right"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if failure.to_string().contains("for database") => {
            "; make the schema for this role, or grant it CREATE on the database"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "; grant this role CREATE on the schema, or name another with ?schema=NAME"
        }
        // PgBouncer's answer to the beginning of a transaction then.
        Some(&SqlState::PROTOCOL_VIOLATION)
            if failure.to_string().contains("statement pooling") =>
        {
            "; the pooler in front of it lends a session for one statement: set its pool_mode to \
             transaction or session"
        }
        _ => "",
    }
}
