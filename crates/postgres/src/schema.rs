//! The schema, its number, and how a database is told to be ours.

use std::time::Duration;

use crate::{
    connection::Connection,
    error::{StoreFailure, in_full},
    version,
};

/// The statements that lead from one schema to the next; the first leads from nothing.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_catalogue.sql")];

/// The schema that this binary writes.
const NEWEST: i64 = 1;
const _: () = assert!(MIGRATIONS.len() == 1, "NEWEST is the number of migrations");

/// Every name that we use. Somebody else's object of one of these names is not touched.
const OURS: [&str; 8] = [
    "petstore_schema",
    "pet",
    "catalogue",
    "idempotency",
    "api_key",
    "api_key_guard",
    "pet_id",
    "api_key_id",
];

/// One instance at a time looks at the schema and changes it: `pst0` and the schema's own number
/// space, so that nobody else's lock is meant.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8102085943093325872)";
/// How long others may take for theirs.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);

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
    #[error("no petstore store is in it; 'petstore keys create' and 'petstore serve' make one")]
    Missing,
    #[error(
        "it holds {0} of somebody else; it was left untouched: \
         name another database, or a schema with ?schema=NAME"
    )]
    Foreign(String),
    #[error(
        "it was made by a newer petstore (schema {found}, this binary knows up to {NEWEST}); \
         it was left untouched: use that version of petstore"
    )]
    Newer {
        /// The schema's number.
        found: i64,
    },
    #[error("{}", in_full(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// What to do where there are no tables yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// Make them.
    Create,
    /// Say so.
    Refuse,
}

/// Brings the database to schema [`NEWEST`] in one transaction. Any number of instances may do so
/// at once. A role that may not make tables can use those that are there.
pub(crate) async fn migrate(
    connection: &Connection,
    schema: Option<&str>,
    if_missing: IfMissing,
) -> Result<(), SchemaError> {
    judge_encoding(connection).await?;
    let is_there = match (schema_number(connection).await, if_missing) {
        (Ok(0) | Err(SchemaError::NoSchema), IfMissing::Refuse) => {
            return Err(SchemaError::Missing);
        }
        (Ok(number), _) => number == NEWEST,
        (Err(SchemaError::NoSchema), IfMissing::Create) => false,
        (Err(error), _) => return Err(error),
    };
    if is_there {
        return Ok(());
    }
    let patience = LOCK_PATIENCE.as_millis();
    connection.batch(&format!("BEGIN; SET LOCAL lock_timeout = {patience}; {LOCK}")).await?;
    if let Some(schema) = schema {
        create_schema(connection, schema).await?;
    }
    let number = schema_number(connection).await?;
    for (step, migration) in (1..).zip(MIGRATIONS).skip_while(|(step, _)| *step <= number) {
        connection.batch(migration).await?;
        if step == 1 {
            connection.batch("CREATE TABLE petstore_schema (version bigint PRIMARY KEY)").await?;
            let mark = version::random_mark()?;
            connection.execute(version::FIRST, &[&mark.as_slice()]).await?;
        }
        connection.execute("INSERT INTO petstore_schema (version) VALUES ($1)", &[&step]).await?;
    }
    Ok(connection.commit().await?)
}

async fn judge_encoding(connection: &Connection) -> Result<(), SchemaError> {
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
    let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if connection.rows(exists, &[&schema]).await?.is_empty() {
        let quoted = schema.replace('"', "\"\"");
        connection.batch(&format!("CREATE SCHEMA \"{quoted}\"")).await?;
    }
    Ok(())
}

/// The number of the schema that the tables have; 0 if there are none.
async fn schema_number(connection: &Connection) -> Result<i64, SchemaError> {
    let here = "SELECT current_schema() IS NOT NULL";
    let rows = connection.rows(here, &[]).await?;
    if !rows.first().map_or(Ok(false), |row| row.try_get::<_, bool>(0))? {
        return Err(SchemaError::NoSchema);
    }
    let objects = "SELECT c.relname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = ANY($1::text[]) ORDER BY 1";
    let names = OURS.as_slice();
    let rows = connection.rows(objects, &[&names]).await?;
    let there = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if there.is_empty() {
        return Ok(0);
    }
    if !there.iter().any(|name| name == "petstore_schema") {
        return Err(SchemaError::Foreign(format!("'{}'", there.join("', '"))));
    }
    let rows = connection.rows("SELECT max(version)::bigint FROM petstore_schema", &[]).await?;
    match rows.first().map_or(Ok(None), |row| row.try_get::<_, Option<i64>>(0))? {
        Some(found) if found > NEWEST => Err(SchemaError::Newer { found }),
        Some(number) if number >= 1 => Ok(number),
        _ => Err(SchemaError::Foreign("a table 'petstore_schema'".to_owned())),
    }
}
