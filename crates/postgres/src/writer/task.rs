//! The task that writes.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{self, Instant},
};

use super::group::{self, Failed, Job, Outcome, Written};
use crate::{
    connection::{Connection, READ_COMMITTED},
    connector::Purpose,
    error::StoreFailure,
    pool::{MAX_TRIES, Pool},
    sequences,
    version_cache::VersionCache,
};

/// Additions in one transaction.
const MAX_GROUP: usize = 1024;
/// The pause before the next try after a connection was broken or could not be made.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The writing task. It never ends because something failed.
pub(super) struct Task {
    pool: Arc<Pool>,
    version: Arc<VersionCache>,
    connection: Option<Connection>,
}

impl Task {
    pub(super) fn new(pool: Arc<Pool>, version: Arc<VersionCache>) -> Self {
        Self { pool, version, connection: None }
    }

    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Job>) {
        // What has to be tried again stays in the group.
        let mut group: Vec<Job> = Vec::new();
        loop {
            if group.is_empty() && waiting.recv_many(&mut group, MAX_GROUP).await == 0 {
                return;
            }
            while group.len() < MAX_GROUP
                && let Ok(job) = waiting.try_recv()
            {
                group.push(job);
            }
            // Their callers have been answered already; what has not begun does not begin any more.
            group.retain(|job| job.deadline > Instant::now());
            if !group.is_empty() {
                group = self.write(group).await;
            }
        }
    }

    /// Writes a group and answers; what is left has to be tried again.
    async fn write(&mut self, group: Vec<Job>) -> Vec<Job> {
        let began = std::time::Instant::now();
        match self.try_to_write(&group).await {
            Ok(written) => {
                if let Some(stored) = written.version {
                    self.version.observe(stored, began);
                }
                answer(group, written.outcomes)
            }
            // Which of them it refuses, the server does not say.
            Err(failed) if failed.failure.is_refusal() && !failed.in_doubt && group.len() > 1 => {
                let mut first = group;
                let second = first.split_off(first.len() / 2);
                let mut left = Box::pin(self.write(first)).await;
                left.append(&mut Box::pin(self.write(second)).await);
                left
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

    async fn try_to_write(&mut self, group: &[Job]) -> Result<Written, Failed> {
        let connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.pool.connect(Purpose::Calls).await?,
        };
        let timeout = self.pool.parameters().call_timeout;
        let written = time::timeout(timeout, group::write(&connection, group)).await;
        let late = |_| Err(Failed::in_doubt(StoreFailure::Deadline(timeout)));
        let mut written = written.unwrap_or_else(late);
        let is_clean = match &written {
            Ok(_) => true,
            // After any other failure a new connection is the sure way to a clean session.
            Err(failed) => failed.failure.is_conflict() && connection.rollback().await.is_ok(),
        };
        self.connection = is_clean.then_some(connection);
        if let Err(failed) = &mut written
            && failed.failure.is_identifier_taken()
            && let Err(failure) = self.raise_sequences().await
        {
            failed.failure = failure;
        }
        written
    }

    async fn raise_sequences(&mut self) -> Result<(), StoreFailure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.pool.connect(Purpose::Calls).await?,
        };
        connection.begin(READ_COMMITTED).await?;
        sequences::raise(&connection).await?;
        self.connection = Some(connection);
        Ok(())
    }
}

/// Answers each addition whose outcome is known.
fn answer(group: Vec<Job>, outcomes: Vec<Outcome>) -> Vec<Job> {
    let mut left = Vec::new();
    for (mut job, outcome) in group.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Answer(answer) => job.answer(answer),
            Outcome::Retry if job.tries < MAX_TRIES => {
                job.tries += 1;
                left.push(job);
            }
            Outcome::Retry => job.answer(Err(StoreFailure::Contention.into())),
        }
    }
    left
}

/// What may be tried again after the group has failed: nothing was committed, or an idempotency
/// record shows next time whether it was. The others are answered by the failure.
fn retry(group: Vec<Job>, failed: &Failed) -> Vec<Job> {
    let may_pass = failed.failure.is_conflict() || failed.failure.breaks_connection();
    let fenced = failed.failure.is_fenced();
    let mut left = Vec::new();
    for mut job in group {
        job.tries += 1;
        job.in_doubt |= failed.in_doubt && job.request.is_some();
        // What is in doubt has a key: repeated on the other store, it meets its record there.
        if !fenced && (job.in_doubt || (may_pass && !failed.in_doubt && job.tries < MAX_TRIES)) {
            left.push(job);
        } else {
            job.answer(Err(failed.failure.clone().into()));
        }
    }
    left
}
