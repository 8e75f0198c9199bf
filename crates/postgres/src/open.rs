//! The way from a URL to a database that is ours and up to date.

use std::{sync::Arc, time::Instant};

use tokio_postgres::error::SqlState;

use crate::{
    config::PostgresConfig,
    connection::Purpose,
    connector::{ConnectError, Connector},
    schema::{self, IfMissing, SchemaError},
    tls::TlsFailure,
    version::{self, Seen},
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
    #[error("{0}; grant this role CREATE on the schema, or name another with ?schema=NAME")]
    Denied(SchemaError),
    #[error(transparent)]
    Schema(SchemaError),
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
        let denied = matches!(
            &error,
            SchemaError::Postgres(cause) if cause.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE)
        );
        if denied { Self::Denied(error) } else { Self::Schema(error) }
    }
}

/// A database that is ours and whose schema is the newest.
pub(crate) struct Opened {
    pub(crate) connector: Arc<Connector>,
    /// The mark of its catalogue, so that there is one from the start.
    pub(crate) seen: Option<Seen>,
    /// When it was looked for.
    pub(crate) began: Instant,
}

pub(crate) async fn open(
    config: &PostgresConfig,
    if_missing: IfMissing,
) -> Result<Opened, OpenError> {
    try_open(config, if_missing).await.map_err(|reason| OpenError::new(config, reason))
}

async fn try_open(config: &PostgresConfig, if_missing: IfMissing) -> Result<Opened, Reason> {
    let connector = Connector::new(config)?;
    let connection = connector.connect(Purpose::Archive).await?;
    schema::migrate(&connection, config.parameters.schema.as_deref(), if_missing).await?;
    let began = Instant::now();
    let rows = connection.rows(version::SELECT, &[]).await.map_err(SchemaError::from)?;
    // A mark that is missing or corrupt is what every read will report.
    let seen = Seen::of(rows.first()).ok();
    Ok(Opened { connector: Arc::new(connector), seen, began })
}
