//! The upgrade of a store that an older release made. All steps are one transaction, under a lock that one instance at
//! a time holds. So several instances may start an upgrade at once, and an instance that dies leaves the store as it
//! was. The transaction waits only a moment for the locks of the tables, because reads and writes queue behind it. If
//! it does not get the locks, it is tried again.

use std::time::Duration;

use petstore_storage::{SchemaError, Step, Upgrade, UpgradeMode};
use tokio::time;
use tokio_postgres::error::SqlState;

use crate::{
    config::PostgresConfig,
    connection::{Connection, READ_COMMITTED},
    connector::{Connector, Purpose},
    error::{OpenError, Reason, StoreFailure},
    schema::{self, STEPS},
    store::PostgresStore,
    values::{column, scalar},
};

/// The time limit for the lock of a table.
const LIMIT: &str = "SET LOCAL lock_timeout = '1s'";
/// The largest number of tries.
const MAX_TRIES: u32 = 30;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Marks the session of an upgrade until the session ends. [`IN_USE`] does not count marked sessions.
const MARK: &str = "SELECT pg_advisory_lock_shared(8102085943093325873)";
/// Selects whether another session of the same role uses the database. PostgreSQL does not show which tables a session
/// uses.
const IN_USE: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
     WHERE datname = current_database() AND usename = current_user AND pid NOT IN (SELECT pid FROM pg_locks \
       WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = 8102085943093325873))";

impl PostgresStore {
    /// Upgrades the store to the schema of this release. Returns `None` if there is no store.
    ///
    /// # Errors
    /// [`OpenError`]. The store is as it was.
    pub async fn upgrade(
        config: &PostgresConfig,
        mode: UpgradeMode,
    ) -> Result<Option<Upgrade>, OpenError> {
        let upgraded = upgrade(config, mode, &STEPS).await;
        upgraded.map_err(|reason| OpenError { config: config.clone(), reason })
    }
}

/// Runs the pending steps as soon as their locks are free.
async fn upgrade(
    config: &PostgresConfig,
    mode: UpgradeMode,
    steps: &[Step],
) -> Result<Option<Upgrade>, Reason> {
    let connection = Connector::new(config)?.connect(Purpose::Upgrade).await?;
    if connection.shared_settings.is_none() {
        connection.batch(MARK).await?;
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let done = try_once(&connection, mode, steps).await;
        if done.is_err() {
            connection.batch("ROLLBACK").await?;
        }
        match done.map_err(not_owner) {
            Err(Reason::Store(failure)) if is_locked(&failure) && tries < MAX_TRIES => {}
            // The server ends the sessions of a stopped process within the pause.
            Err(Reason::Schema(SchemaError::InUse { .. })) if tries == 1 => {}
            done => return done,
        }
        time::sleep(RETRY_PAUSE).await;
    }
}

async fn try_once(
    connection: &Connection,
    mode: UpgradeMode,
    steps: &[Step],
) -> Result<Option<Upgrade>, Reason> {
    connection.begin(READ_COMMITTED).await?;
    connection.batch(schema::LOCK).await?;
    connection.batch(LIMIT).await?;
    let Some(from) = schema::version(connection).await? else { return Ok(None) };
    let upgrade = Upgrade::plan(from, steps);
    require_possible(connection, &upgrade.steps, mode).await?;
    if mode != UpgradeMode::DryRun {
        for step in &upgrade.steps {
            schema::apply(step, connection).await?;
        }
    }
    connection.commit().await?;
    Ok(Some(upgrade))
}

/// Fails if other sessions or rows prevent the steps.
async fn require_possible(
    connection: &Connection,
    steps: &[Step],
    mode: UpgradeMode,
) -> Result<(), Reason> {
    let alone = steps.iter().find(|step| !step.is_compatible());
    if let Some(step) = alone.filter(|_| mode != UpgradeMode::Force) {
        let is_shared = connection.shared_settings.is_some();
        let who = if is_shared {
            "the pooler hides whether one is connected; stop every instance and run 'petstore upgrade \
             --force'"
        } else {
            "other sessions of this role are connected; stop them, or run 'petstore upgrade --force'"
        };
        if is_shared || scalar(&connection.query(IN_USE, &[]).await?)? {
            return Err(SchemaError::InUse { version: step.version, who }.into());
        }
    }
    for step in steps {
        let Some(sql) = step.offending else { continue };
        let rows: Vec<String> = column(&connection.query(sql, &[]).await?)?;
        step.require_none(&rows)?;
    }
    Ok(())
}

fn is_locked(failure: &StoreFailure) -> bool {
    failure.has_state(&SqlState::LOCK_NOT_AVAILABLE)
        || failure.has_state(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Converts the error of a missing right: only the owner of the tables may upgrade them.
fn not_owner(reason: Reason) -> Reason {
    let Reason::Store(failure) = reason else { return reason };
    if !failure.has_state(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return failure.into();
    }
    Reason::Unusable(format!(
        "{failure}; its schema is older than this petstore needs, and only the owner of its tables can upgrade it: \
         'petstore upgrade --store postgres://OWNER@…'"
    ))
}

#[cfg(test)]
mod tests;
