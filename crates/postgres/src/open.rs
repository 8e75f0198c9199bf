//! Opens, identifies and removes a store.

use std::time::Instant;

use petstore_storage::VersionCache;

use crate::{
    config::PostgresConfig,
    connection::READ_COMMITTED,
    connector::{Connector, Purpose},
    error::open::{OpenError, Reason},
    pool::Pool,
    schema,
    store::{PostgresSettings, PostgresStore},
    values::scalar,
    version,
};

/// Identifies the running server, the database and the schema. The server is identified by the microsecond of its start,
/// because a copy of a server has the same `system_identifier` but holds another store.
const IDENTITY: &str = "SELECT extract(epoch FROM pg_postmaster_start_time()) || ':' || \
     oid || ':' || current_schema() FROM pg_catalog.pg_database WHERE datname = current_database()";

/// Waits for running reads and writes, and blocks new ones, so that no row is added after [`IS_EMPTY`]. Additions lock
/// the row of `petstore_state` first.
const LOCK: &str = "LOCK TABLE petstore_state, pet, idempotency, api_key IN ACCESS EXCLUSIVE MODE";

const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM pet) AND NOT EXISTS (SELECT FROM idempotency) \
     AND NOT EXISTS (SELECT FROM api_key) AND EXISTS (SELECT FROM petstore_state WHERE state = 'open')";

/// Drops everything that the steps of the schema create. Indexes and triggers go with their tables. The server refuses
/// the statement if another object, such as a view, depends on the tables or functions.
const DROP: &str = "DROP VIEW catalogue; \
     DROP TABLE pet, petstore_state, idempotency, api_key, petstore_schema; DROP SEQUENCE pet_id, api_key_id; \
     DROP FUNCTION petstore_renew_version, petstore_guard, petstore_require_open, petstore_sealed, \
     petstore_renew_key_revision, petstore_refuse_older, petstore_may_add, petstore_add_each, petstore_stamp";

impl PostgresStore {
    /// Opens the store, and creates the tables if there are none.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn connect(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open(config, PostgresSettings { create: true, ..Default::default() }).await
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`OpenError`], also if there is no store and `settings.create` is `false`.
    pub async fn open(
        config: &PostgresConfig,
        settings: PostgresSettings,
    ) -> Result<Self, OpenError> {
        open(config, &settings).await.map_err(|reason| OpenError::new(config, reason))
    }

    /// Removes the tables of a store that is open and holds no animals, API keys or idempotency records. Otherwise returns
    /// `false` and changes nothing. A schema that was created for the tables stays.
    ///
    /// # Errors
    /// [`OpenError`]. Nothing was changed.
    pub async fn remove_if_empty(config: &PostgresConfig) -> Result<bool, OpenError> {
        remove_if_empty(config).await.map_err(|reason| OpenError::new(config, reason))
    }
}

async fn open(
    config: &PostgresConfig,
    settings: &PostgresSettings,
) -> Result<PostgresStore, Reason> {
    let connector = Connector::new(config)?;
    let connection = connector.connect(Purpose::Archive).await?;
    let schema = config.schema.as_deref();
    let (version, began) = (VersionCache::default(), Instant::now());
    let was_created = schema::prepare(&connection, schema, settings.create).await?;
    let rows = connection.query_alone(version::SELECT, &[]).await?;
    // Every read reports a version that is missing or corrupt.
    if let Ok(stored) = version::from_row(rows.first()) {
        version.observe(stored, began);
    }
    Ok(PostgresStore::new(Pool::new(connector), version, was_created, settings))
}

impl PostgresConfig {
    /// Returns a unique name of the store, which does not depend on the hosts in the URL. Returns `None` if the server does
    /// not answer.
    pub async fn identity(&self) -> Option<String> {
        let connection = Connector::new(self).ok()?.connect(Purpose::Archive).await.ok()?;
        let rows = connection.query_alone(IDENTITY, &[]).await.ok()?;
        rows.first()?.try_get(0).ok()
    }
}

async fn remove_if_empty(config: &PostgresConfig) -> Result<bool, Reason> {
    let connection = Connector::new(config)?.connect(Purpose::Archive).await?;
    connection.begin(READ_COMMITTED).await?;
    schema::lock(&connection).await?;
    // Without tables in this schema, the names below may refer to tables of another schema.
    if schema::version(&connection).await?.is_none() {
        return Ok(true);
    }
    connection.batch(LOCK).await?;
    let is_empty = scalar(&connection.query(IS_EMPTY, &[]).await?)?;
    if is_empty {
        connection.batch(DROP).await?;
        connection.commit().await?;
    } else {
        connection.rollback().await?;
    }
    Ok(is_empty)
}
