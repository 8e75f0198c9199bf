//! From a configuration to a database whose tables are ours.

use std::{sync::Arc, time::Instant};

use deadpool::managed::BuildError;
use tokio_postgres::error::SqlState;

use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::ConnectError,
    pool::Pool,
    schema::{self, IfMissing, SchemaError},
    tls::TlsFailure,
    version::{self, StoredVersion, VersionCache},
};

/// A store could not be opened. One line says why, and how to mend it; the password is not in it.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    config: PostgresConfig,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{0}; see that a server that takes writes runs there, and that the address is right")]
    Unreachable(Arc<ConnectError>),
    #[error("{0}; mend the user or the password, or what the server's pg_hba.conf says of them")]
    Refused(Arc<ConnectError>),
    #[error("{0}; create it with CREATE DATABASE, or name another")]
    NoDatabase(Arc<ConnectError>),
    #[error("{0}; wait, or raise max_connections of the server, or lower pool_size")]
    TooMany(Arc<ConnectError>),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error(
        "{0}; the pooler in front of it lends a session for one statement: set its pool_mode to \
         transaction or session"
    )]
    StatementPooling(SchemaError),
    #[error("{0}; grant this role CREATE on the schema, or name another with ?schema=NAME")]
    Denied(SchemaError),
    #[error(transparent)]
    Schema(SchemaError),
    #[error("{0}")]
    Upgrade(String),
    #[error(transparent)]
    Pool(#[from] BuildError),
}

impl OpenError {
    pub(crate) fn new(config: &PostgresConfig, reason: Reason) -> Self {
        Self { config: config.clone(), reason }
    }
}

impl From<Arc<ConnectError>> for Reason {
    fn from(error: Arc<ConnectError>) -> Self {
        match error.sql_state() {
            Some(state) if state.code().starts_with("28") => Self::Refused(error),
            Some(&SqlState::UNDEFINED_DATABASE) => Self::NoDatabase(error),
            Some(&SqlState::TOO_MANY_CONNECTIONS) => Self::TooMany(error),
            _ => Self::Unreachable(error),
        }
    }
}

impl From<SchemaError> for Reason {
    fn from(error: SchemaError) -> Self {
        let state = if let SchemaError::Postgres(cause) = &error { cause.code() } else { None };
        match state {
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Self::Denied(error),
            // What PgBouncer answers to the beginning of a transaction then.
            Some(&SqlState::PROTOCOL_VIOLATION)
                if error.to_string().contains("statement pooling") =>
            {
                Self::StatementPooling(error)
            }
            Some(_) | None => Self::Schema(error),
        }
    }
}

/// What a store is made of.
pub(crate) struct Opened {
    pub(crate) pool: Pool,
    /// Holds the version already, so that the first request has one.
    pub(crate) version: VersionCache,
    /// Whether the tables are new.
    pub(crate) was_created: bool,
}

pub(crate) async fn open(
    config: &PostgresConfig,
    if_missing: IfMissing,
) -> Result<Opened, OpenError> {
    let opened = try_open(config, if_missing).await;
    opened.map_err(|reason| OpenError::new(config, reason))
}

async fn try_open(config: &PostgresConfig, if_missing: IfMissing) -> Result<Opened, Reason> {
    let connector = Arc::new(Connector::new(config)?);
    let connection = connector.connect(Purpose::Archive).await?;
    let schema = config.parameters.schema.as_deref();
    let was_created = schema::prepare(&connection, schema, if_missing).await?;
    let (version, began) = (VersionCache::default(), Instant::now());
    let rows = connection.rows_alone(version::SELECT, &[]).await.map_err(SchemaError::from)?;
    // One that is missing or corrupt is what every read will report.
    if let Ok(stored) = StoredVersion::from_row(rows.first()) {
        version.observe(stored, began);
    }
    Ok(Opened { pool: Pool::new(connector)?, version, was_created })
}
