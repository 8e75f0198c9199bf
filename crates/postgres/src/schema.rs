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
    connection::{Connection, READ_COMMITTED},
    error::{StoreFailure, open::Reason},
    values::{column, scalar},
    version,
};

/// The oldest version of the schema that can be upgraded.
pub(crate) const FIRST: i64 = STEPS[0].version;

/// The version of the schema that this release makes and upgrades to.
pub(crate) const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// From nothing to the newest version.
pub(crate) const STEPS: [Step; 5] = [
    Step::new(2, "the tables of petstore 1.0.0", include_str!("schema/2.sql")),
    Step::new(
        3,
        "columns for the rights of API keys and for the version of the schema",
        include_str!("schema/3.sql"),
    ),
    Step::new(
        4,
        "keep the rights of API keys; refuse new names that the service refuses; notice changes by SQL",
        include_str!("schema/4.sql"),
    ),
    Step {
        offending: Some(include_str!("schema/5.offending.sql")),
        ..Step::new(5, "hold what is there against the new rules", include_str!("schema/5.sql"))
    },
    Step {
        offending: Some(include_str!("schema/6.offending.sql")),
        ..Step::new(
            6,
            "tell one state of the API keys from another; hand a store over",
            include_str!("schema/6.sql"),
        )
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

impl Step {
    /// Returns a step beside which every release goes on.
    const fn new(version: i64, summary: &'static str, sql: &'static str) -> Self {
        Self { version, summary, sql, oldest: 2, oldest_release: "1.0.0", offending: None }
    }

    /// Applies it in the transaction of `connection`.
    pub(crate) async fn apply(&self, connection: &Connection) -> Result<(), StoreFailure> {
        connection.batch(self.sql).await?;
        if self.version == FIRST {
            let record = "INSERT INTO petstore_schema (version) VALUES ($1)";
            connection.query(record, &[&self.version]).await?;
            connection.query(version::INSERT, &[&version::random()?.as_slice()]).await?;
        } else {
            let record = "UPDATE petstore_schema \
                 SET version = $1, actual_version = $2, oldest_release = $3::text";
            let release = self.oldest_release;
            connection.query(record, &[&self.oldest, &self.version, &release]).await?;
        }
        Ok(())
    }
}

/// Sees that the tables are there, and creates them in one transaction if need be, and if it may (`create`). Any
/// number of instances may do so at once. A role that may not create tables can use those that are there.
/// Returns whether this instance created them.
pub(crate) async fn prepare(
    connection: &Connection,
    schema: Option<&str>,
    create: bool,
) -> Result<bool, Reason> {
    connection.begin(READ_COMMITTED).await?;
    check_encoding(connection).await?;
    let mut found = version(connection).await?;
    let is_missing = found.is_none();
    if is_missing {
        if !create {
            return Err(Reason::Missing);
        }
        lock(connection).await?;
        if let Some(schema) = schema {
            create_schema(connection, schema).await?;
        }
        // Another instance may have created them before this one got the lock.
        found = version(connection).await?;
    }
    match found {
        Some(actual) if actual < VERSION => return Err(Reason::Older { actual, needed: VERSION }),
        Some(_) => {}
        None => {
            let has_schema = "SELECT current_schema() IS NOT NULL";
            if !scalar(&connection.query(has_schema, &[]).await?)? {
                return Err(Reason::NoSchema);
            }
            for step in &STEPS {
                step.apply(connection).await?;
            }
        }
    }
    connection.commit().await?;
    Ok(is_missing && found.is_none())
}

/// Keeps other instances from changing the tables until the transaction ends.
pub(crate) async fn lock(connection: &Connection) -> Result<(), StoreFailure> {
    let timeout = LOCK_TIMEOUT.as_millis();
    connection.batch(&format!("SET LOCAL lock_timeout = {timeout}; {LOCK}")).await
}

async fn check_encoding(connection: &Connection) -> Result<(), Reason> {
    let sql = "SELECT current_setting('server_encoding')";
    let encoding: String = scalar(&connection.query(sql, &[]).await?)?;
    let is_utf8 = ["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str());
    if is_utf8 { Ok(()) } else { Err(Reason::Encoding(encoding)) }
}

/// Without asking for the right to create one where it is there already.
async fn create_schema(connection: &Connection, schema: &str) -> Result<(), StoreFailure> {
    let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text";
    if connection.query(exists, &[&schema]).await?.is_empty() {
        let quoted = schema.replace('"', "\"\"");
        connection.batch(&format!("CREATE SCHEMA \"{quoted}\"")).await?;
    }
    Ok(())
}

/// Returns the version of our tables, which this release can use or upgrade; `None` if there are none.
pub(crate) async fn version(connection: &Connection) -> Result<Option<i64>, Reason> {
    let objects = "SELECT c.relname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = ANY($1::text[]) ORDER BY 1";
    let found: Vec<String> = column(&connection.query(objects, &[&NAMES.to_vec()]).await?)?;
    if found.is_empty() {
        return Ok(None);
    }
    if !found.iter().any(|name| name == "petstore_schema") {
        return Err(Reason::Foreign(format!("'{}'", found.join("', '"))));
    }
    let rows = connection.query(RECORD, &[]).await?;
    let foreign = || Reason::Foreign("a table 'petstore_schema'".to_owned());
    let row = rows.first().ok_or_else(foreign)?;
    let oldest: i64 = row.try_get(0)?;
    match oldest {
        ..FIRST => Err(Reason::TooOld { actual: oldest, first: FIRST }),
        FIRST..=VERSION => Ok(Some(row.try_get::<_, Option<i64>>(1)?.unwrap_or(oldest))),
        _ => {
            let release: Option<String> = row.try_get(2)?;
            let release = release.unwrap_or_else(|| "of a newer release".to_owned());
            Err(Reason::TooNew { oldest, known: VERSION, release })
        }
    }
}
