//! From the schema of an older release to that of this one.
//!
//! Each step is one transaction, under a lock of the database's that one instance at a time has, so several
//! may upgrade at once, and one that dies leaves the store as before or after a step. A step waits only a
//! moment for the locks of its tables: whoever reads or writes meanwhile waits behind it. It is tried again
//! until it gets them.

use std::time::Duration;

use petstore_domain::{Upgrade, UpgradeMode, UpgradeStep};
use tokio::time;
use tokio_postgres::error::SqlState;

use crate::{
    config::PostgresConfig,
    connection::Connection,
    connector::{Connector, Purpose},
    error::in_full,
    open::{OpenError, Reason},
    schema::{self, STEPS, SchemaError, Step},
    store::PostgresStore,
    transaction::READ_COMMITTED,
};

/// How long a step waits for the lock of a table, and how long it may run: to hold ten million animals
/// against a rule takes a minute.
const LIMITS: &str = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '1h'";
/// How often a step is tried.
const MAX_TRIES: u32 = 30;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Whether another session of the same role uses the database. Which of its tables, nobody can see.
const IN_USE: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
     WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid())";

/// Why a step was not done.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(
        "schema version {version} refuses {}; correct or delete these rows with SQL, and run it again",
        .rows.join(", ")
    )]
    Offending {
        /// The version that was to be reached.
        version: i64,
        /// What each of the first ten is, and why it is refused.
        rows: Vec<String>,
    },
    #[error(
        "the step to schema version {0} cannot run beside an older release, and other sessions of this role \
         are connected; stop them, or run 'petstore upgrade --force'"
    )]
    InUse(i64),
    #[error(
        "the step to schema version {0} cannot run beside an older release, and the pooler hides whether one \
         is connected; stop every instance and run 'petstore upgrade --force'"
    )]
    Hidden(i64),
    #[error(
        "{0}; its schema is older than this petstore needs, and only the owner of its tables can upgrade it: \
         'petstore upgrade --store postgres://OWNER@…'"
    )]
    NotOwner(String),
    #[error("{0}; other sessions keep its tables locked: try again later")]
    Locked(String),
    #[error(transparent)]
    Schema(SchemaError),
}

impl From<SchemaError> for StepError {
    fn from(error: SchemaError) -> Self {
        if let SchemaError::Postgres(error) = error { error.into() } else { Self::Schema(error) }
    }
}

impl From<tokio_postgres::Error> for StepError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Self::NotOwner(in_full(&error)),
            Some(&(SqlState::LOCK_NOT_AVAILABLE | SqlState::T_R_DEADLOCK_DETECTED)) => {
                Self::Locked(in_full(&error))
            }
            Some(_) | None => Self::Schema(SchemaError::Postgres(error)),
        }
    }
}

impl PostgresStore {
    /// Brings the schema of the store to this release's. `None` if there is no store.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to mend it.
    pub async fn upgrade(
        config: &PostgresConfig,
        mode: UpgradeMode,
    ) -> Result<Option<Upgrade>, OpenError> {
        let upgraded = upgrade(config, mode, &STEPS).await;
        upgraded.map_err(|reason| OpenError::new(config, reason))
    }
}

async fn upgrade(
    config: &PostgresConfig,
    mode: UpgradeMode,
    steps: &[Step],
) -> Result<Option<Upgrade>, Reason> {
    let connection = Connector::new(config)?.connect(Purpose::Archive).await?;
    let Some(from) = version(&connection).await? else { return Ok(None) };
    let pending: Vec<_> = steps.iter().filter(|step| step.version > from).collect();
    let refused = |error: StepError| Reason::Upgrade(error.to_string());
    // Nothing is begun that cannot be ended.
    for step in &pending {
        require_possible(&connection, step, mode).await.map_err(refused)?;
    }
    let mut upgrade = Upgrade { from, steps: Vec::new(), saved_to: None };
    for step in pending {
        if mode == UpgradeMode::DryRun || run(&connection, step, mode).await.map_err(refused)? {
            upgrade.steps.push(UpgradeStep {
                version: step.version,
                summary: step.summary,
                oldest_release: step.oldest_release,
                is_compatible: step.oldest < step.version,
            });
        }
    }
    Ok(Some(upgrade))
}

async fn version(connection: &Connection) -> Result<Option<i64>, SchemaError> {
    connection.begin(READ_COMMITTED).await?;
    let version = schema::version(connection).await?;
    connection.rollback().await?;
    Ok(version)
}

/// Refuses a step that others, or rows, are in the way of. Outside of a transaction, too.
async fn require_possible(
    connection: &Connection,
    step: &Step,
    mode: UpgradeMode,
) -> Result<(), StepError> {
    if step.oldest == step.version && mode != UpgradeMode::Force {
        if connection.is_shared() {
            return Err(StepError::Hidden(step.version));
        }
        let rows = connection.rows_alone(IN_USE, &[]).await?;
        if rows.first().map_or(Ok(false), |row| row.try_get(0))? {
            return Err(StepError::InUse(step.version));
        }
    }
    let Some(sql) = step.offending else { return Ok(()) };
    let found = connection.rows_alone(sql, &[]).await?;
    let rows: Vec<String> = found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    if rows.is_empty() { Ok(()) } else { Err(StepError::Offending { version: step.version, rows }) }
}

/// Runs a step as soon as it gets its locks. `false` if another instance has done it.
async fn run(connection: &Connection, step: &Step, mode: UpgradeMode) -> Result<bool, StepError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let done = try_once(connection, step, mode).await;
        if done.is_err() {
            connection.rollback().await?;
        }
        match done {
            Err(StepError::Locked(_)) if tries < MAX_TRIES => time::sleep(RETRY_PAUSE).await,
            done => return done,
        }
    }
}

async fn try_once(
    connection: &Connection,
    step: &Step,
    mode: UpgradeMode,
) -> Result<bool, StepError> {
    require_possible(connection, step, mode).await?;
    connection.begin(READ_COMMITTED).await?;
    schema::lock(connection).await?;
    connection.batch(LIMITS).await?;
    let is_done = schema::version(connection).await?.is_some_and(|now| now >= step.version);
    if !is_done {
        step.apply(connection).await?;
    }
    connection.commit().await.map_err(SchemaError::from)?;
    Ok(!is_done)
}

#[cfg(test)]
mod tests;
