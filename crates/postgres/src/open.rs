//! From a configuration to a store, to what the database is, and back to none.

use std::time::Instant;

use petstore_storage::VersionCache;

use crate::{
    config::PostgresConfig,
    connection::READ_COMMITTED,
    connector::{Connector, Purpose},
    error::open::{OpenError, Reason},
    pool::Pool,
    rights, schema,
    store::{PostgresSettings, PostgresStore},
    values::scalar,
    version,
};

/// The running server, the database and the schema. A server is known by the microsecond of its start: its
/// `system_identifier` is also that of each copy that was made of it, which is another store.
const IDENTITY: &str = "SELECT extract(epoch FROM pg_postmaster_start_time()) || ':' || \
     oid || ':' || current_schema() FROM pg_catalog.pg_database WHERE datname = current_database()";

/// Waits for whoever reads or writes, and keeps others away, so that nothing is added behind [`IS_EMPTY`]. The
/// row of `petstore_state` is what additions lock first.
const LOCK: &str = "LOCK TABLE petstore_state, pet, idempotency, api_key IN ACCESS EXCLUSIVE MODE";

const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM pet) AND NOT EXISTS (SELECT FROM idempotency) \
     AND NOT EXISTS (SELECT FROM api_key) AND EXISTS (SELECT FROM petstore_state WHERE state = 'open')";

/// All that the steps of the schema make; indexes and triggers go with their tables. What somebody else has made
/// on top of it refuses this.
const DROP: &str = "DROP VIEW catalogue; \
     DROP TABLE pet, petstore_state, idempotency, api_key, petstore_schema; DROP SEQUENCE pet_id, api_key_id; \
     DROP FUNCTION petstore_renew_version, petstore_guard, petstore_require_open, petstore_sealed, \
     petstore_renew_key_revision, petstore_refuse_older, petstore_may_add, petstore_add_each";

impl PostgresStore {
    /// Connects, and creates the tables if there are none.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to fix it.
    pub async fn connect(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open(config, PostgresSettings { create: true, ..Default::default() }).await
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

    /// Removes the tables of a store that holds no animals, keys or idempotency records and is open. `false` if it
    /// holds any: it is then left untouched. A schema that was created for them stays.
    ///
    /// # Errors
    /// [`OpenError`]; the store is then left untouched.
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
    let read = async {
        let was_created = schema::prepare(&connection, schema, settings.create).await?;
        Ok((was_created, connection.query_alone(version::SELECT, &[]).await?))
    };
    let (was_created, rows) = match read.await {
        Ok(read) => read,
        Err(reason) => return Err(rights::explain(reason, &connection).await),
    };
    // One that is missing or corrupt is what every read will report.
    if let Ok(stored) = version::from_row(rows.first()) {
        version.observe(stored, began);
    }
    Ok(PostgresStore::new(Pool::new(connector), version, was_created, settings))
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

async fn remove_if_empty(config: &PostgresConfig) -> Result<bool, Reason> {
    let connection = Connector::new(config)?.connect(Purpose::Archive).await?;
    connection.begin(READ_COMMITTED).await?;
    schema::lock(&connection).await?;
    // Without tables in this schema, the names below might be those of another.
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
