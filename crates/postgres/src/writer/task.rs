//! The task that writes.

use std::{sync::Arc, time::Duration};

use petstore_domain::AddError;
use tokio::{
    sync::mpsc,
    time::{self, Instant},
};

use super::{
    GROUP,
    addition::Addition,
    failed,
    group::{self, Outcome},
};
use crate::{
    board::Board,
    connection::{Connection, Purpose},
    connector::Connector,
    error::{Failure, StoreFailure},
    pool::TRIES,
};

/// The pause before what must be tried again is, when no server can be reached.
const PAUSE: Duration = Duration::from_millis(100);

/// The writing task. It never ends because something failed.
pub(super) struct Task {
    pub(super) connector: Arc<Connector>,
    pub(super) board: Arc<Board>,
    pub(super) connection: Option<Connection>,
    pub(super) patience: Duration,
}

impl Task {
    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Addition>) {
        // What has to be tried again stays in the group.
        let mut group: Vec<Addition> = Vec::new();
        loop {
            if group.is_empty() && waiting.recv_many(&mut group, GROUP).await == 0 {
                return;
            }
            while group.len() < GROUP
                && let Ok(addition) = waiting.try_recv()
            {
                group.push(addition);
            }
            // Their callers have been told already; what has not begun does not begin any more.
            group.retain(|addition| addition.deadline > Instant::now());
            if !group.is_empty() {
                group = self.write(group).await;
            }
        }
    }

    /// Writes a group and answers; what is left has to be tried again.
    async fn write(&mut self, group: Vec<Addition>) -> Vec<Addition> {
        let connection = match self.take_connection().await {
            Ok(connection) => connection,
            Err(failure) => {
                let left = keep(group, &failure, |addition| addition.in_doubt);
                if !left.is_empty() {
                    time::sleep(PAUSE).await;
                }
                return left;
            }
        };
        let began = std::time::Instant::now();
        let written = time::timeout(self.patience, group::write(&connection, &group)).await;
        let late = || Err(group::Failed::in_doubt(StoreFailure::Deadline(self.patience)));
        match written.unwrap_or_else(|_| late()) {
            Ok(written) => {
                self.connection = Some(connection);
                if let Some(seen) = written.seen {
                    self.board.show(seen, began);
                }
                answer(group, written.outcomes)
            }
            Err(failed) => {
                // Whatever else it was, a new connection has nothing of it.
                if failed.failure.is_conflict() && connection.batch("ROLLBACK").await.is_ok() {
                    self.connection = Some(connection);
                }
                again(group, &failed)
            }
        }
    }

    /// The connection that is left from the last group, or a new one.
    async fn take_connection(&mut self) -> Result<Connection, StoreFailure> {
        match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => Ok(connection),
            None => Ok(self.connector.connect(Purpose::Calls).await?),
        }
    }
}

/// Answers each addition whose outcome is known.
fn answer(group: Vec<Addition>, outcomes: Vec<Outcome>) -> Vec<Addition> {
    let mut left = Vec::new();
    for (mut addition, outcome) in group.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Answer(answer) => addition.answer(answer),
            Outcome::Again if addition.tries < TRIES => {
                addition.tries += 1;
                left.push(addition);
            }
            Outcome::Again => addition.answer(Err(failed(StoreFailure::Contention))),
        }
    }
    left
}

/// What may be tried again after the group has failed. Nothing was committed, or an idempotency
/// record tells next time whether it was.
fn again(mut group: Vec<Addition>, failed: &group::Failed) -> Vec<Addition> {
    for addition in &mut group {
        addition.tries += 1;
        addition.in_doubt |= failed.in_doubt && addition.attempt.is_some();
    }
    let worth_it = failed.failure.is_conflict() || failed.failure.spoils_connection();
    keep(group, &failed.failure, |addition| {
        let safe = !failed.in_doubt || addition.attempt.is_some();
        worth_it && safe && addition.tries < TRIES
    })
}

/// Those that shall be kept; the others are answered by the failure.
fn keep(
    group: Vec<Addition>,
    failure: &StoreFailure,
    is_kept: impl Fn(&Addition) -> bool,
) -> Vec<Addition> {
    let (kept, lost): (Vec<_>, Vec<_>) = group.into_iter().partition(is_kept);
    for addition in lost {
        let failure = Failure::<AddError>::Store(failure.clone());
        addition.answer(Err(failure.into_error()));
    }
    kept
}
