//! The schema versions, the tables, and the check whether a database holds a store. `petstore-storage` explains
//! versions and steps.

use petstore_storage::{SchemaError, Step};

use crate::{
    connection::{Connection, READ_COMMITTED},
    error::{Reason, StoreFailure},
    values::{column, scalar},
    version,
};

/// The oldest schema version that can be upgraded.
pub(crate) const FIRST: i64 = STEPS[0].version;

/// The schema version that this release creates and upgrades to.
pub(crate) const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// The steps from an empty database to the newest version.
pub(crate) const STEPS: [Step; 6] = [
    Step::new(2, 2, "the tables of petstore 1.0.0", include_str!("schema/2.sql")),
    Step::new(
        3,
        2,
        "columns for the rights of API keys and for the version of the schema",
        include_str!("schema/3.sql"),
    ),
    Step::new(
        4,
        2,
        "keep the rights of API keys; refuse new names that the service refuses; notice changes by SQL",
        include_str!("schema/4.sql"),
    ),
    Step::new(5, 2, "check the existing rows against the new rules", include_str!("schema/5.sql"))
        .unless(include_str!("schema/5.offending.sql")),
    Step::new(
        6,
        2,
        "record the revision of the API keys; hand a store over",
        include_str!("schema/6.sql"),
    )
    .unless(include_str!("schema/6.offending.sql")),
    Step::new(
        7,
        7,
        "read the state of the store from the end of an index; refuse older releases",
        include_str!("schema/7.sql"),
    )
    .since("2.0.0"),
];

/// Selects the tables, views and sequences with petstore's names, and whether a policy hides rows of them. An object of
/// another program with such a name stays unchanged.
const OBJECTS: &str = "SELECT c.relname::text, pg_catalog.row_security_active(c.oid) FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname IN ('petstore_schema', 'petstore_state', 'pet', 'catalogue', \
       'idempotency', 'api_key', 'api_key_guard', 'pet_id', 'api_key_id') ORDER BY 1";

/// Keeps other instances from changing the tables until the transaction ends. The number starts with the bytes `pst0`,
/// so that no other application uses it.
pub(crate) const LOCK: &str =
    "SET LOCAL lock_timeout = '1min'; SELECT pg_advisory_xact_lock(8102085943093325872)";

/// Reads the row as a whole, because not every schema version has these columns.
const RECORD: &str = "SELECT version::bigint, (to_jsonb(s) ->> 'actual_version')::bigint, \
     to_jsonb(s) ->> 'oldest_release' FROM petstore_schema s ORDER BY 1 DESC LIMIT 1";

/// Applies a step in the transaction of `connection`.
pub(crate) async fn apply(step: &Step, connection: &Connection) -> Result<(), StoreFailure> {
    connection.batch(step.sql).await?;
    if step.version == FIRST {
        let record = "INSERT INTO petstore_schema (version) VALUES ($1)";
        connection.query(record, &[&step.version]).await?;
        let state = "INSERT INTO catalogue (only_row, version, changes) VALUES (1, $1, 0)";
        connection.query(state, &[&version::random()?]).await?;
    } else {
        let record = "UPDATE petstore_schema \
             SET version = $1, actual_version = $2, oldest_release = $3::text";
        connection.query(record, &[&step.oldest, &step.version, &step.oldest_release]).await?;
    }
    Ok(())
}

/// Checks the tables. If there are none and `create` is `true`, creates them in one transaction. Any number of
/// instances may call this at once. A role that may not create tables can use existing tables. Returns whether this
/// call created them.
pub(crate) async fn prepare(
    connection: &Connection,
    schema: Option<&str>,
    create: bool,
) -> Result<bool, Reason> {
    connection.begin(READ_COMMITTED).await?;
    let encoding = "SELECT current_setting('server_encoding')";
    let encoding: String = scalar(&connection.query(encoding, &[]).await?)?;
    if encoding != "UTF8" {
        return Err(Reason::Unusable(format!(
            "its encoding is {encoding}, which cannot hold every name; use a database with ENCODING 'UTF8'"
        )));
    }
    let mut found = version(connection).await?;
    if found.is_none() {
        if !create {
            return Err(Reason::Missing);
        }
        connection.batch(LOCK).await?;
        // A role without the right to create a schema can use an existing schema.
        let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text";
        if let Some(schema) = schema
            && connection.query(exists, &[&schema]).await?.is_empty()
        {
            let quoted = schema.replace('"', "\"\"");
            connection.batch(&format!("CREATE SCHEMA \"{quoted}\"")).await?;
        }
        // Another instance may have created the tables before this one got the lock.
        found = version(connection).await?;
    }
    let is_missing = found.is_none();
    if is_missing {
        let has_schema = "SELECT current_schema() IS NOT NULL";
        if !scalar(&connection.query(has_schema, &[]).await?)? {
            return Err(Reason::Unusable(
                "there is no schema that this role may use: GRANT USAGE ON SCHEMA, or name another one with \
                 ?schema=NAME"
                    .to_owned(),
            ));
        }
        for step in &STEPS {
            apply(step, connection).await?;
        }
    }
    if let Some(actual) = found.filter(|actual| *actual < VERSION) {
        return Err(SchemaError::Older { actual, known: VERSION }.into());
    }
    connection.commit().await?;
    Ok(is_missing)
}

/// Returns the version of the tables; `None` if there are no tables. Fails if this release can neither use nor upgrade
/// the tables.
pub(crate) async fn version(connection: &Connection) -> Result<Option<i64>, Reason> {
    let rows = connection.query(OBJECTS, &[]).await?;
    let found: Vec<String> = column(&rows)?;
    if found.is_empty() {
        return Ok(None);
    }
    if !found.iter().any(|name| name == "petstore_schema") {
        return Err(foreign(&format!("'{}'", found.join("', '"))));
    }
    let mut tables = rows.iter().zip(&found);
    if let Some((_, table)) = tables.find(|(row, _)| matches!(row.try_get(1), Ok(true))) {
        return Err(Reason::Unusable(format!(
            "row level security hides rows of the table '{table}' from this role: ALTER ROLE … BYPASSRLS, or \
             ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"
        )));
    }
    let rows = connection.query(RECORD, &[]).await?;
    let row = rows.first().ok_or_else(|| foreign("a table 'petstore_schema'"))?;
    let oldest: i64 = scalar(&rows)?;
    petstore_storage::require_known(&STEPS, oldest, || row.try_get(2).ok()?)?;
    let actual: Option<i64> = row.try_get(1).map_err(StoreFailure::from)?;
    Ok(Some(actual.unwrap_or(oldest)))
}

fn foreign(objects: &str) -> Reason {
    Reason::Unusable(format!(
        "it holds {objects} of another program; it was left untouched: name another database, or a schema with \
         ?schema=NAME"
    ))
}
