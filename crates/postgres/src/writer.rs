//! Additions: one task writes them in groups on one connection.
//!
//! With 64 clients, groups have 22 times the throughput of one transaction for each addition.
//! [`petstore_storage::writer`] has the queue, the groups and the deadlines; this file decides what is tried again
//! after a failure.

mod group;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use petstore_domain::StoreError;
use petstore_storage::{
    VersionCache,
    writer::{Add, Job, Jobs},
};
use tokio::time;

use self::group::Failed;
use crate::{
    connection::Connection,
    connector::Purpose,
    error::StoreFailure,
    pets::addition::Outcome,
    pool::{MAX_TRIES, Pool},
    sequences,
};

/// The largest number of additions in one transaction.
pub(crate) const MAX_GROUP: usize = 1024;
/// The time limit for naming the sessions that a group waits for.
const BLOCKERS_TIMEOUT: Duration = Duration::from_secs(1);
/// Selects the sessions that block sessions of this role and are not blocked themselves.
const BLOCKERS: &str = "SELECT string_agg(DISTINCT format('session %s of the role %s (%s)', b.pid, b.usename, \
       concat_ws(', ', nullif(b.application_name, ''), b.state, 'its transaction began at ' || b.xact_start)), '; ') \
     FROM pg_catalog.pg_stat_activity a, unnest(pg_catalog.pg_blocking_pids(a.pid)) u (pid), \
       pg_catalog.pg_stat_activity b \
     WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event_type = 'Lock' \
       AND b.pid = u.pid AND cardinality(pg_catalog.pg_blocking_pids(b.pid)) = 0";
/// The pause before the next try after a connection broke or could not be opened.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// An addition with the history of its tries.
#[derive(Debug)]
struct Attempt {
    add: Add,
    /// The number of failed tries.
    tries: u32,
    /// `true` if the answer to an earlier try was lost, so that it may have been committed. Then the addition is tried
    /// until its deadline, because its record shows the outcome.
    in_doubt: bool,
}

/// Writes additions until the queue ends. A failed group does not end the task.
pub(crate) async fn run(pool: Arc<Pool>, version: Arc<VersionCache>, mut jobs: Jobs) {
    let mut task = Task { pool, version, connection: None };
    // Additions that are tried again stay in the group.
    let mut group: Vec<Attempt> = Vec::new();
    while let Some(waiting) = jobs.next(group.len()).await {
        group.retain(|attempt| !attempt.add.reply.is_abandoned());
        group.extend(waiting.into_iter().map(|job| {
            let Job::Add(add) = job;
            Attempt { add, tries: 0, in_doubt: false }
        }));
        if group.is_empty() {
            continue;
        }
        group = match task.write(&mut group).await {
            Ok(outcomes) => answer(group, outcomes),
            Err(failed) => {
                let left = retry(group, &failed);
                if !left.is_empty() && !failed.failure.is_conflict() {
                    time::sleep(RETRY_PAUSE).await;
                }
                left
            }
        };
    }
}

struct Task {
    pool: Arc<Pool>,
    version: Arc<VersionCache>,
    connection: Option<Connection>,
}

impl Task {
    async fn write(&mut self, group: &mut Vec<Attempt>) -> Result<Vec<Outcome>, Failed> {
        let connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.pool.connect(Purpose::Calls).await?,
        };
        let config = &self.pool.connector.config;
        let slow = config.call_timeout.min(config.statement_timeout) / 2;
        let mut writing = Box::pin(group::write(&connection, group, &self.version));
        // The statements of a group have time limits. After half of the limit, finds out which sessions block it.
        let written = if let Ok(written) = time::timeout(slow, &mut writing).await {
            written
        } else {
            let (written, blockers) = tokio::join!(&mut writing, blockers(&self.pool));
            written.map_err(|failed| failed.blocked_by(blockers))
        };
        drop(writing);
        let is_clean = match &written {
            Ok(_) => true,
            Err(Failed { failure, in_doubt: false })
                if failure.is_conflict() || failure.is_refusal() =>
            {
                connection.batch("ROLLBACK").await.is_ok()
            }
            // After any other failure, only a new connection surely has a clean session.
            Err(_) => false,
        };
        self.connection = is_clean.then_some(connection);
        if matches!(&written, Err(failed) if failed.failure.is_identifier_taken()) {
            sequences::raise(&self.pool).await?;
        }
        written
    }
}

/// Returns the sessions that block writes, if there are any.
async fn blockers(pool: &Pool) -> Option<String> {
    let rows = time::timeout(BLOCKERS_TIMEOUT, pool.query(BLOCKERS, &[])).await.ok()?.ok()?;
    rows.first()?.try_get(0).ok()?
}

/// Replies to each addition whose outcome is known. Returns the other additions.
fn answer(group: Vec<Attempt>, outcomes: Vec<Outcome>) -> Vec<Attempt> {
    let mut left = Vec::new();
    for (mut attempt, outcome) in group.into_iter().zip(outcomes) {
        match outcome {
            Some(answer) => attempt.add.reply.send(answer),
            None if attempt.tries < MAX_TRIES => {
                attempt.tries += 1;
                left.push(attempt);
            }
            None => attempt.add.reply.send(Err(StoreError::from(StoreFailure::Contention).into())),
        }
    }
    left
}

/// Returns the additions of a failed group that may be tried again: nothing was committed, or the idempotency record
/// will show the outcome. Replies to the other additions with the failure.
fn retry(group: Vec<Attempt>, failed: &Failed) -> Vec<Attempt> {
    let may_pass = failed.failure.is_conflict() || failed.failure.breaks_connection();
    let sealed = failed.failure.sealed().is_some();
    let mut left = Vec::new();
    for mut attempt in group {
        attempt.tries += 1;
        attempt.in_doubt |= failed.in_doubt && attempt.add.request.is_some();
        // On a sealed store nothing is tried again. After a handover, a repeat on the new store finds the record of an
        // addition in doubt.
        let is_tried = may_pass && !failed.in_doubt && attempt.tries < MAX_TRIES;
        if !sealed && (attempt.in_doubt || is_tried) {
            left.push(attempt);
        } else {
            let error = StoreError::from(failed.failure.clone());
            attempt.add.reply.send(Err(error.into()));
        }
    }
    left
}
