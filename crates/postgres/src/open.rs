//! From a configuration to a store, and to what the database is.

use std::time::Instant;

use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::open::{OpenError, Reason},
    pool::Pool,
    schema,
    store::{PostgresSettings, PostgresStore},
    version::{self, StoredVersion},
    version_cache::VersionCache,
};

/// The running server, the database and the schema. A server is known by the microsecond of its start: its
/// `system_identifier` is also that of each copy that was made of it, which is another store.
const IDENTITY: &str = "SELECT extract(epoch FROM pg_postmaster_start_time()) || ':' || \
     oid || ':' || current_schema() FROM pg_catalog.pg_database WHERE datname = current_database()";

impl PostgresStore {
    /// Connects, and creates the tables if there are none.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to fix it.
    pub async fn connect(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open(config, PostgresSettings { create: true, ..Default::default() }).await
    }

    /// As [`Self::connect`], but creates no tables where there are none.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store yet.
    pub async fn connect_existing(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open(config, PostgresSettings::default()).await
    }

    /// Connects, as the settings say.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store and none is to be created.
    pub async fn open(
        config: &PostgresConfig,
        settings: PostgresSettings,
    ) -> Result<Self, OpenError> {
        open(config, &settings).await.map_err(|reason| OpenError::new(config, reason))
    }
}

async fn open(
    config: &PostgresConfig,
    settings: &PostgresSettings,
) -> Result<PostgresStore, Reason> {
    let connector = Connector::new(config)?;
    let connection = connector.connect(Purpose::Archive).await?;
    let schema = config.schema.as_deref();
    let was_created = schema::prepare(&connection, schema, settings.create).await?;
    let (version, began) = (VersionCache::default(), Instant::now());
    let rows = connection.query_alone(version::SELECT, &[]).await?;
    // One that is missing or corrupt is what every read will report.
    if let Ok(stored) = StoredVersion::from_row(rows.first()) {
        version.observe(stored, began);
    }
    Ok(PostgresStore::new(Pool::new(connector), version, was_created, &settings.on_task_panic))
}

impl PostgresConfig {
    /// Returns what the store that this names alone is, whatever names the URL uses for its host; `None` if the
    /// server does not tell.
    pub async fn identity(&self) -> Option<String> {
        let connection = Connector::new(self).ok()?.connect(Purpose::Archive).await.ok()?;
        let rows = connection.query_alone(IDENTITY, &[]).await.ok()?;
        rows.first()?.try_get(0).ok()
    }
}
