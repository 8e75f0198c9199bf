//! Removes a store that was made a moment ago for a command that has failed.

use crate::{
    config::PostgresConfig,
    connection::READ_COMMITTED,
    connector::{Connector, Purpose},
    error::open::{OpenError, Reason},
    schema,
    store::PostgresStore,
    values::scalar,
};

/// Waits for whoever reads or writes, and keeps others away, so that nothing is added behind [`IS_EMPTY`]. The
/// row of `catalogue` is what additions lock first.
const LOCK: &str = "LOCK TABLE catalogue, pet, idempotency, api_key IN ACCESS EXCLUSIVE MODE";

const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM pet) AND NOT EXISTS (SELECT FROM idempotency) \
     AND NOT EXISTS (SELECT FROM api_key) AND EXISTS (SELECT FROM catalogue WHERE state = 'open')";

/// All that the steps of the schema make; indexes and triggers go with their tables. What somebody else has made
/// on top of it refuses this.
const DROP: &str = "DROP TABLE pet, catalogue, idempotency, api_key, api_key_guard, petstore_schema; \
     DROP SEQUENCE pet_id, api_key_id; DROP FUNCTION petstore_renew_version, petstore_guard, \
     petstore_require_open, petstore_sealed, petstore_renew_key_revision";

impl PostgresStore {
    /// Removes the tables of a store that holds no animals, keys or idempotency records and is open. `false` if it holds any: it is then left untouched. A schema that was created for them stays.
    ///
    /// # Errors
    /// [`OpenError`]; the store is then left untouched.
    pub async fn remove_if_empty(config: &PostgresConfig) -> Result<bool, OpenError> {
        remove_if_empty(config).await.map_err(|reason| OpenError::new(config, reason))
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
