//! The tables, and whether a database is ours.

use std::time::Duration;

use crate::{
    connection::Connection,
    error::{StoreFailure, in_full},
    transaction::READ_COMMITTED,
    version,
};

/// Everything that a store consists of. What changes in it needs another [`VERSION`].
const SCHEMA: &str = include_str!("schema.sql");
/// The version of the schema. There is no way from one to another.
pub(crate) const VERSION: i64 = 2;

/// Every name that we use. An object of one of these names that is not ours is not touched.
const NAMES: [&str; 8] = [
    "petstore_schema",
    "pet",
    "catalogue",
    "idempotency",
    "api_key",
    "api_key_guard",
    "pet_id",
    "api_key_id",
];

/// One instance at a time creates the tables. The number is `pst0` and six more bytes, so that no
/// other application's lock is meant.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8102085943093325872)";
/// How long another instance may take to create its tables.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a database is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error(
        "its encoding is {0}, which cannot hold every name; \
         use a database made with ENCODING 'UTF8'"
    )]
    Encoding(String),
    #[error("no schema is there to hold the tables; name one with ?schema=NAME")]
    NoSchema,
    #[error(
        "no petstore store is in it; 'petstore serve', 'petstore keys create' and 'petstore import --create' make one"
    )]
    Missing,
    #[error(
        "it holds {0} of somebody else; it was left untouched: \
         name another database, or a schema with ?schema=NAME"
    )]
    Foreign(String),
    #[error(
        "its schema is unsupported: expected version {VERSION}, found {actual}; \
         it was left untouched: use the petstore that made it"
    )]
    Unsupported {
        /// The version of its tables.
        actual: i64,
    },
    #[error("{}", in_full(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// What to do where there are no tables yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Refuse,
}

/// Sees that the tables are there, and creates them in one transaction if need be. Any number of
/// instances may do so at once. A role that may not create tables can use those that are there.
/// Answers whether this instance created them.
pub(crate) async fn prepare(
    connection: &Connection,
    schema: Option<&str>,
    if_missing: IfMissing,
) -> Result<bool, SchemaError> {
    connection.begin(READ_COMMITTED).await?;
    check_encoding(connection).await?;
    match (exists(connection).await, if_missing) {
        (Ok(true), _) => {
            connection.commit().await?;
            return Ok(false);
        }
        (Ok(false) | Err(SchemaError::NoSchema), IfMissing::Refuse) => {
            return Err(SchemaError::Missing);
        }
        (Ok(false) | Err(SchemaError::NoSchema), IfMissing::Create) => {}
        (Err(error), _) => return Err(error),
    }
    let timeout = LOCK_TIMEOUT.as_millis();
    connection.batch(&format!("SET LOCAL lock_timeout = {timeout}; {LOCK}")).await?;
    if let Some(schema) = schema {
        create_schema(connection, schema).await?;
    }
    // Another instance may have created them before this one got the lock.
    let create = !exists(connection).await?;
    if create {
        connection.batch(SCHEMA).await?;
        let record = "INSERT INTO petstore_schema (version) VALUES ($1)";
        connection.execute(record, &[&VERSION]).await?;
        connection.execute(version::INSERT, &[&version::random()?.as_slice()]).await?;
    }
    connection.commit().await?;
    Ok(create)
}

async fn check_encoding(connection: &Connection) -> Result<(), SchemaError> {
    let rows = connection.rows("SELECT current_setting('server_encoding')", &[]).await?;
    let encoding: String = rows.first().map_or(Ok(String::new()), |row| row.try_get(0))?;
    if ["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str()) {
        Ok(())
    } else {
        Err(SchemaError::Encoding(encoding))
    }
}

/// Without asking for the right to create one where it is there already.
async fn create_schema(connection: &Connection, schema: &str) -> Result<(), SchemaError> {
    let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text";
    if connection.rows(exists, &[&schema]).await?.is_empty() {
        let quoted = schema.replace('"', "\"\"");
        connection.batch(&format!("CREATE SCHEMA \"{quoted}\"")).await?;
    }
    Ok(())
}

/// Whether our tables are there, of this version.
async fn exists(connection: &Connection) -> Result<bool, SchemaError> {
    let here = "SELECT current_schema() IS NOT NULL";
    let rows = connection.rows(here, &[]).await?;
    if !rows.first().map_or(Ok(false), |row| row.try_get::<_, bool>(0))? {
        return Err(SchemaError::NoSchema);
    }
    let objects = "SELECT c.relname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = ANY($1::text[]) ORDER BY 1";
    let rows = connection.rows(objects, &[&NAMES.to_vec()]).await?;
    let found = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if found.is_empty() {
        return Ok(false);
    }
    if !found.iter().any(|name| name == "petstore_schema") {
        return Err(SchemaError::Foreign(format!("'{}'", found.join("', '"))));
    }
    let rows = connection.rows("SELECT max(version)::bigint FROM petstore_schema", &[]).await?;
    match rows.first().map_or(Ok(None), |row| row.try_get::<_, Option<i64>>(0))? {
        Some(VERSION) => Ok(true),
        Some(actual) => Err(SchemaError::Unsupported { actual }),
        None => Err(SchemaError::Foreign("a table 'petstore_schema'".to_owned())),
    }
}
