//! One write on its way through the queue.

use petstore_domain::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    error::{Failure, WriteFailure},
    pets::idempotency::recent::RecentRecords,
};

/// A write: first it is run, then, when its transaction has ended, its caller is answered.
pub(super) trait Job: Send {
    /// Does the work and keeps its result. An error rolls the whole group back.
    fn run(&mut self, connection: &Connection, recent: &mut RecentRecords) -> rusqlite::Result<()>;

    /// Gives the caller the kept result if the transaction was committed.
    fn answer(self: Box<Self>, outcome: Result<(), WriteFailure>);
}

/// Work that has a caller.
pub(super) struct Task<T, E, W> {
    /// Taken out when it is run.
    work: Option<W>,
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
}

impl<T, E, W> Task<T, E, W> {
    pub(super) fn new(work: W, caller: oneshot::Sender<Result<T, E>>) -> Self {
        Self { work: Some(work), result: None, caller }
    }
}

impl<T, E, W> Job for Task<T, E, W>
where
    T: Send,
    E: From<StoreError> + Send,
    W: FnOnce(&Connection, &mut RecentRecords) -> Result<T, Failure<E>> + Send,
{
    fn run(&mut self, connection: &Connection, recent: &mut RecentRecords) -> rusqlite::Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        self.result = match work(connection, recent) {
            Ok(value) => Some(Ok(value)),
            Err(Failure::Answer(error)) => Some(Err(error)),
            Err(Failure::Sqlite(error)) => return Err(error),
        };
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), WriteFailure>) {
        let failed = |failure| Err(StoreError::from(failure).into());
        let answer = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => failed(WriteFailure::Stopped),
            (Err(failure), _) => failed(failure),
        };
        // If the caller's future was dropped, nobody waits for it; the write has ended whole.
        let _ = self.caller.send(answer);
    }
}
