//! Additions: one task, one connection, group commit.
//!
//! With 64 connections that is 22 times what one transaction for each addition gives. The queue, groups and deadlines
//! are those of [`petstore_storage::writer`]; here is what is tried again after a failure.

mod group;

#[cfg(test)]
mod tests;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{AddError, Added};
use petstore_storage::{
    VersionCache,
    writer::{Add, Job, Jobs},
};
use tokio::time;

use self::group::{Failed, Outcome, Written};
use crate::{
    connection::Connection,
    connector::Purpose,
    error::StoreFailure,
    pool::{MAX_TRIES, Pool},
    sequences,
};

/// Additions in one transaction.
pub(crate) const MAX_GROUP: usize = 1024;
/// How long rows are written one by one after the server has refused one of them: mostly another one follows.
const REFUSAL_MEMORY: Duration = Duration::from_secs(1);
/// How long the server may take to name the sessions that a group waits for.
const BLOCKERS_TIMEOUT: Duration = Duration::from_secs(1);
/// The sessions that sessions of this role wait for, and that wait for nobody.
const BLOCKERS: &str = "SELECT string_agg(DISTINCT format('session %s of the role %s (%s)', b.pid, b.usename, \
       concat_ws(', ', nullif(b.application_name, ''), b.state, 'its transaction began at ' || b.xact_start)), '; ') \
     FROM pg_catalog.pg_stat_activity a, unnest(pg_catalog.pg_blocking_pids(a.pid)) u (pid), \
       pg_catalog.pg_stat_activity b \
     WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event_type = 'Lock' \
       AND b.pid = u.pid AND cardinality(pg_catalog.pg_blocking_pids(b.pid)) = 0";
/// The pause before the next try after a connection was broken or could not be made.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// An addition, and what became of earlier tries.
#[derive(Debug)]
struct Attempt {
    add: Add,
    /// How often it has been tried.
    tries: u32,
    /// `true` if an earlier try may have been committed: its answer was lost. Then its record is to
    /// be looked for until the deadline.
    in_doubt: bool,
}

impl Attempt {
    fn answer(self, answer: Result<Added, AddError>) {
        self.add.reply.send(answer);
    }
}

/// Writes until the queue ends. It never ends because something failed.
pub(crate) async fn run(pool: Arc<Pool>, version: Arc<VersionCache>, mut jobs: Jobs) {
    let mut task = Task { pool, version, connection: None, refused_at: None };
    // Additions to try again stay in the group.
    let mut group: Vec<Attempt> = Vec::new();
    while let Some(waiting) = jobs.next(group.len()).await {
        group.retain(|attempt| !attempt.add.reply.is_abandoned());
        group.extend(waiting.into_iter().map(|job| {
            let Job::Add(add) = job;
            Attempt { add, tries: 0, in_doubt: false }
        }));
        if !group.is_empty() {
            group = task.write(group).await;
        }
    }
}

struct Task {
    pool: Arc<Pool>,
    version: Arc<VersionCache>,
    connection: Option<Connection>,
    /// When the server last refused a row.
    refused_at: Option<Instant>,
}

impl Task {
    /// Writes a group and answers; what is left has to be tried again.
    async fn write(&mut self, mut group: Vec<Attempt>) -> Vec<Attempt> {
        let began = Instant::now();
        match self.try_to_write(&mut group).await {
            Ok(written) => {
                if let Some(stored) = written.version {
                    self.version.observe(stored, began);
                }
                if written.has_refused {
                    self.refused_at = Some(began);
                }
                answer(group, written.outcomes)
            }
            Err(failed) => {
                let left = retry(group, &failed);
                if !left.is_empty() && !failed.failure.is_conflict() {
                    time::sleep(RETRY_PAUSE).await;
                }
                left
            }
        }
    }

    async fn try_to_write(&mut self, group: &mut Vec<Attempt>) -> Result<Written, Failed> {
        let connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.pool.connect(Purpose::Calls).await?,
        };
        let are_refused = self.refused_at.is_some_and(|at| at.elapsed() < REFUSAL_MEMORY);
        let written = self.bounded(group::write(&connection, group, are_refused)).await;
        let is_clean = match &written {
            Ok(_) => true,
            Err(Failed { failure, in_doubt: false })
                if failure.is_conflict() || failure.is_refusal() =>
            {
                connection.rollback().await.is_ok()
            }
            // After any other failure a new connection is the sure way to a clean session.
            Err(_) => false,
        };
        self.connection = is_clean.then_some(connection);
        if matches!(&written, Err(failed) if failed.failure.is_identifier_taken()) {
            sequences::raise(&self.pool).await?;
        }
        written
    }

    /// Waits for a group until its deadline. In the middle of what its statements may take, it is asked what they wait for.
    async fn bounded(
        &self,
        written: impl Future<Output = Result<Written, Failed>>,
    ) -> Result<Written, Failed> {
        let config = self.pool.config();
        let (timeout, mut written) = (config.call_timeout, Box::pin(written));
        let slow = timeout.min(config.statement_timeout) / 2;
        let deadline = time::Instant::now() + timeout;
        if let Ok(written) = time::timeout(slow, &mut written).await {
            return written;
        }
        let written = time::timeout_at(deadline, written);
        let (written, blockers) = tokio::join!(written, blockers(&self.pool));
        let late = |_| Err(Failed::in_doubt(StoreFailure::Deadline(timeout)));
        written.unwrap_or_else(late).map_err(|failed| failed.blocked_by(blockers))
    }
}

/// Returns the sessions that keep writes waiting, if there are any.
async fn blockers(pool: &Pool) -> Option<String> {
    let rows = time::timeout(BLOCKERS_TIMEOUT, pool.query(BLOCKERS, &[])).await.ok()?.ok()?;
    rows.first()?.try_get(0).ok()?
}

/// Answers each addition whose outcome is known.
fn answer(group: Vec<Attempt>, outcomes: Vec<Outcome>) -> Vec<Attempt> {
    let mut left = Vec::new();
    for (mut attempt, outcome) in group.into_iter().zip(outcomes) {
        match outcome {
            Some(answer) => attempt.answer(answer),
            None if attempt.tries < MAX_TRIES => {
                attempt.tries += 1;
                left.push(attempt);
            }
            None => attempt.answer(Err(StoreFailure::Contention.into())),
        }
    }
    left
}

/// Returns what may be tried again after the group has failed: nothing was committed, or an idempotency
/// record shows next time whether it was. The others are answered by the failure.
fn retry(group: Vec<Attempt>, failed: &Failed) -> Vec<Attempt> {
    let may_pass = failed.failure.is_conflict() || failed.failure.breaks_connection();
    let sealed = failed.failure.sealed().is_some();
    let mut left = Vec::new();
    for mut attempt in group {
        attempt.tries += 1;
        attempt.in_doubt |= failed.in_doubt && attempt.add.request.is_some();
        // An addition in doubt has a key: repeated on the other store, it meets its record there.
        let is_tried = may_pass && !failed.in_doubt && attempt.tries < MAX_TRIES;
        if !sealed && (attempt.in_doubt || is_tried) {
            left.push(attempt);
        } else {
            attempt.answer(Err(failed.failure.clone().into()));
        }
    }
    left
}
