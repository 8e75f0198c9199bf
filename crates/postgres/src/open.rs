//! Opens and identifies a store.

use std::sync::Arc;

use petstore_storage::{OpenSettings, StoreTasks, VersionCache};

use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::{OpenError, Reason},
    pool::Pool,
    schema,
    store::PostgresStore,
    version,
    writer::{self, MAX_GROUP},
};

/// Identifies the running server, the database and the schema. The server is identified by the microsecond of its
/// start, because a copy of a server has the same `system_identifier` but holds another store.
const IDENTITY: &str = "SELECT extract(epoch FROM pg_postmaster_start_time()) || ':' || \
     oid || ':' || current_schema() FROM pg_catalog.pg_database WHERE datname = current_database()";

impl PostgresStore {
    /// Opens the store, and creates the tables if there are none.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn connect(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open(config, OpenSettings { create: true, ..Default::default() }).await
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`OpenError`], also if there is no store and `settings.create` is `false`.
    pub async fn open(config: &PostgresConfig, settings: OpenSettings) -> Result<Self, OpenError> {
        open(config, &settings).await.map_err(|reason| OpenError { config: config.clone(), reason })
    }
}

async fn open(config: &PostgresConfig, settings: &OpenSettings) -> Result<PostgresStore, Reason> {
    let connector = Connector::new(config)?;
    let connection = connector.connect(Purpose::Archive).await?;
    let schema = config.schema.as_deref();
    let was_created = schema::prepare(&connection, schema, settings.create).await?;
    // Fails if the role may not read the state.
    connection.query_alone(version::SELECT, &[]).await?;
    let (pool, version) = (Arc::new(Pool::new(connector)), Arc::<VersionCache>::default());
    let (writers, readers, observed) = (Arc::clone(&pool), Arc::clone(&pool), Arc::clone(&version));
    let tasks = StoreTasks::spawn(
        &settings.on_task_panic,
        version,
        (MAX_GROUP, Some(config.call_timeout)),
        |jobs| writer::run(writers, observed, jobs),
        move || version::read(Arc::clone(&readers)),
    );
    Ok(PostgresStore { pool, tasks, reads_while_sealed: settings.reads_while_sealed, was_created })
}

impl PostgresConfig {
    /// Returns a unique name of the store, which does not depend on the hosts in the URL. The name changes when the
    /// server restarts. Returns `None` if the server does not answer.
    pub async fn identity(&self) -> Option<String> {
        let connection = Connector::new(self).ok()?.connect(Purpose::Archive).await.ok()?;
        let rows = connection.query_alone(IDENTITY, &[]).await.ok()?;
        rows.first()?.try_get(0).ok()
    }
}
