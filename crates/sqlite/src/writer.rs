//! Writes: one thread, one connection, group commit.

pub(crate) mod group;

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use petstore_storage::PanicGuard;
use rusqlite::Connection;
use tokio::{
    runtime::Handle,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
};
use tokio_util::sync::CancellationToken;

use self::group::{Committer, Job, Tally};
use crate::{error::Failure, pets::idempotency::recent::RecentRecords};

/// The number of writes that may wait; one more is refused at once. A few groups, so that an accepted write is
/// answered soon even when each group waits for another process.
pub(crate) const MAX_QUEUE: usize = 4096;
/// The largest number of writes in one transaction.
const MAX_GROUP: usize = 1024;

/// Hands writes to the writer's thread. Dropping it lets the thread finish what waits, and joins it.
#[derive(Debug)]
pub(crate) struct Writer {
    // In the order in which they are dropped: the thread ends when the queue is closed and empty.
    queue: mpsc::Sender<Job>,
    tally: Arc<Tally>,
    _thread: JoinOnDrop,
}

impl Writer {
    /// Starts the thread that writes through `committer`, and answers on `runtime`.
    pub(crate) fn start(
        mut committer: Committer,
        runtime: Handle,
        on_panic: &CancellationToken,
    ) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(MAX_QUEUE);
        let tally = Arc::clone(&committer.tally);
        let guard = PanicGuard(on_panic.clone());
        let thread = thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
            let _guard = guard;
            run(&mut committer, jobs, &runtime);
        })?;
        Ok(Self { queue, tally, _thread: JoinOnDrop(Some(thread)) })
    }

    /// Runs `work` in a transaction and returns what it returned, once that is committed.
    ///
    /// From the first poll on the work is done whole or not at all, whether or not the future is
    /// polled again.
    pub(crate) async fn write<T, E>(
        &self,
        work: impl FnOnce(&Connection, &mut RecentRecords) -> Result<T, Failure<E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let stopped = || StoreError::unavailable("the writer has stopped");
        let (keep, kept) = oneshot::channel();
        let work = move |connection: &Connection, recent: &mut RecentRecords| {
            let result = match work(connection, recent) {
                Ok(value) => Ok(value),
                Err(Failure::Answer(error)) => Err(error),
                Err(Failure::Sqlite(error)) => return Err(error),
            };
            // If the caller's future was dropped, nobody waits for it; the write ends whole.
            let _ = keep.send(result);
            Ok(())
        };
        let (caller, ended) = oneshot::channel();
        let job = Job { work: Box::new(work), caller };
        self.queue.try_send(job).map_err(|refusal| match refusal {
            TrySendError::Closed(_) => stopped(),
            TrySendError::Full(_) => StoreError::unavailable(format!(
                "the writer's queue is full ({MAX_QUEUE} writes wait)"
            )),
        })?;
        ended.await.map_err(|_| stopped())??;
        kept.await.map_err(|_| stopped())?
    }

    /// Returns what has been committed since the start.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns how many writes wait.
    pub(crate) fn queue_length(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

/// Runs until the queue is closed and empty. It never ends because something failed.
fn run(committer: &mut Committer, mut jobs: mpsc::Receiver<Job>, runtime: &Handle) {
    let (mut turn, mut ended, mut next) = (Instant::now(), Instant::now(), Vec::new());
    while jobs.blocking_recv_many(&mut next, MAX_GROUP) > 0 {
        let is_over = turn.elapsed() >= TURN;
        if is_over {
            thread::sleep(FREE.saturating_sub(ended.elapsed()));
        }
        if is_over || ended.elapsed() >= FREE {
            turn = Instant::now();
        }
        while next.len() < MAX_GROUP
            && let Ok(job) = jobs.try_recv()
        {
            next.push(job);
        }
        let answers = committer.commit(&mut next);
        ended = Instant::now();
        answers.send(runtime);
    }
}

/// How long this process may write without leaving SQLite's write lock free for [`FREE`]. The lock
/// has no queue: a process that waits for it polls, and would starve beside a writer that begins its next
/// transaction at once.
const TURN: Duration = Duration::from_millis(100);

/// Longer than the other processes' interval between two polls (`connection.rs`).
pub(crate) const FREE: Duration = Duration::from_millis(2);

#[derive(Debug)]
struct JoinOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // An error would be the thread's panic, which has been reported already.
            let _ = thread.join();
        }
    }
}
