//! The schema's versions, its tables, and whether a database is ours.
//!
//! A new store is made by the same steps that upgrade an old one (`upgrade.rs`), so both are alike. What
//! a released step does never changes; another change of the schema is another step.
//!
//! A store says two versions: its own, and the oldest that it can be used as. A release opens a store
//! whose oldest version it knows, so it goes on with a store that a newer release has upgraded, as long
//! as no step of that upgrade forbids it. A step that does forbid it must change what the older
//! release's statements use, such as the name of a table: such a process may be connecting at that very
//! moment.

use std::time::Duration;

use crate::{
    connection::Connection,
    error::{StoreFailure, in_full},
    transaction::READ_COMMITTED,
    version,
};

/// The oldest version of the schema that can be upgraded.
pub(crate) const FIRST: i64 = STEPS[0].version;

/// The version of the schema that this release makes and upgrades to.
pub(crate) const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// From nothing to the newest version.
pub(crate) const STEPS: [Step; 4] = [
    Step {
        version: 2,
        summary: "the tables of petstore 1.0.0",
        sql: include_str!("schema/2.sql"),
        oldest: 2,
        oldest_release: "1.0.0",
        offending: None,
    },
    Step {
        version: 3,
        summary: "columns for the rights of API keys and for the version of the schema",
        sql: include_str!("schema/3.sql"),
        oldest: 2,
        oldest_release: "1.0.0",
        offending: None,
    },
    Step {
        version: 4,
        summary: "keep the rights of API keys; refuse new names that the service refuses; notice changes by SQL",
        sql: include_str!("schema/4.sql"),
        oldest: 2,
        oldest_release: "1.0.0",
        offending: None,
    },
    Step {
        version: 5,
        summary: "hold what is there against the new rules",
        sql: include_str!("schema/5.sql"),
        oldest: 2,
        oldest_release: "1.0.0",
        offending: Some(include_str!("schema/5.offending.sql")),
    },
];

/// From one version of the schema to the next. It runs in one transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The version after it.
    pub(crate) version: i64,
    /// What it changes, in a few words.
    pub(crate) summary: &'static str,
    pub(crate) sql: &'static str,
    /// The oldest version whose releases can use the store after it.
    pub(crate) oldest: i64,
    /// The first release that knows that version.
    pub(crate) oldest_release: &'static str,
    /// Selects a text for each row that a new constraint would refuse, at most ten. It is asked before the
    /// first step of an upgrade, so it is about tables that every older version has.
    pub(crate) offending: Option<&'static str>,
}

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

/// One instance at a time changes the tables. The number is `pst0` and six more bytes, so that no
/// other application's lock is meant.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8102085943093325872)";
/// How long another instance may take to change its tables.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// The columns are not there in every version, so the row is read as a whole.
const RECORD: &str = "SELECT version::bigint, (to_jsonb(s) ->> 'actual_version')::bigint, \
     to_jsonb(s) ->> 'oldest_release' FROM petstore_schema s ORDER BY 1 DESC LIMIT 1";

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
    /// An older petstore has made it, and it can be upgraded.
    #[error(
        "its schema is version {actual}, and petstore {} needs version {VERSION}: upgrade it with \
         'petstore upgrade' and the same --store; 'petstore serve' does so by itself",
        env!("CARGO_PKG_VERSION")
    )]
    Older {
        /// The version of its tables.
        actual: i64,
    },
    /// A petstore that was never released has made it.
    #[error(
        "its schema is version {actual}, older than any that petstore {} can upgrade (version {FIRST}); \
         it was left untouched: use the petstore that made it",
        env!("CARGO_PKG_VERSION")
    )]
    TooOld {
        /// The version of its tables.
        actual: i64,
    },
    /// A newer petstore has made it, or upgraded it.
    #[error(
        "its schema cannot be used below version {oldest}, and petstore {} knows version {VERSION}; it \
         was left untouched: use petstore {oldest_release} or newer, or a backup that was made before its \
         upgrade",
        env!("CARGO_PKG_VERSION")
    )]
    TooNew {
        /// The oldest version that it can be used as.
        oldest: i64,
        /// The first release that knows that version.
        oldest_release: String,
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

impl Step {
    /// Applies it in the transaction of `connection`.
    pub(crate) async fn apply(&self, connection: &Connection) -> Result<(), SchemaError> {
        connection.batch(self.sql).await?;
        if self.version == FIRST {
            let record = "INSERT INTO petstore_schema (version) VALUES ($1)";
            connection.execute(record, &[&self.version]).await?;
            connection.execute(version::INSERT, &[&version::random()?.as_slice()]).await?;
        } else {
            let record = "UPDATE petstore_schema \
                 SET version = $1, actual_version = $2, oldest_release = $3::text";
            let release = self.oldest_release;
            connection.execute(record, &[&self.oldest, &self.version, &release]).await?;
        }
        Ok(())
    }
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
    let mut found = version(connection).await?;
    let create = found.is_none();
    if create {
        if if_missing == IfMissing::Refuse {
            return Err(SchemaError::Missing);
        }
        lock(connection).await?;
        if let Some(schema) = schema {
            create_schema(connection, schema).await?;
        }
        // Another instance may have created them before this one got the lock.
        found = version(connection).await?;
    }
    match found {
        Some(actual) if actual < VERSION => return Err(SchemaError::Older { actual }),
        Some(_) => {}
        None => {
            if !has_schema(connection).await? {
                return Err(SchemaError::NoSchema);
            }
            for step in &STEPS {
                step.apply(connection).await?;
            }
        }
    }
    connection.commit().await?;
    Ok(create && found.is_none())
}

/// Keeps other instances from changing the tables until the transaction ends.
pub(crate) async fn lock(connection: &Connection) -> Result<(), SchemaError> {
    let timeout = LOCK_TIMEOUT.as_millis();
    Ok(connection.batch(&format!("SET LOCAL lock_timeout = {timeout}; {LOCK}")).await?)
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

async fn has_schema(connection: &Connection) -> Result<bool, SchemaError> {
    let rows = connection.rows("SELECT current_schema() IS NOT NULL", &[]).await?;
    Ok(rows.first().map_or(Ok(false), |row| row.try_get(0))?)
}

/// The version of our tables, which this release can use or upgrade; `None` if there are none.
pub(crate) async fn version(connection: &Connection) -> Result<Option<i64>, SchemaError> {
    let objects = "SELECT c.relname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = ANY($1::text[]) ORDER BY 1";
    let rows = connection.rows(objects, &[&NAMES.to_vec()]).await?;
    let found = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if found.is_empty() {
        return Ok(None);
    }
    if !found.iter().any(|name| name == "petstore_schema") {
        return Err(SchemaError::Foreign(format!("'{}'", found.join("', '"))));
    }
    let rows = connection.rows(RECORD, &[]).await?;
    let foreign = || SchemaError::Foreign("a table 'petstore_schema'".to_owned());
    let row = rows.first().ok_or_else(foreign)?;
    let oldest: i64 = row.try_get(0)?;
    match oldest {
        ..FIRST => Err(SchemaError::TooOld { actual: oldest }),
        FIRST..=VERSION => Ok(Some(row.try_get::<_, Option<i64>>(1)?.unwrap_or(oldest))),
        _ => {
            let release: Option<String> = row.try_get(2)?;
            let oldest_release = release.unwrap_or_else(|| "of a newer release".to_owned());
            Err(SchemaError::TooNew { oldest, oldest_release })
        }
    }
}
