//! Writes: one thread, one connection, group commit.

mod commit_delay;
pub(crate) mod connection;
mod group;
mod job;
pub(crate) mod tally;

use std::{io, sync::Arc};

use petstore_domain::StoreError;
use rusqlite::Connection;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use self::{
    commit_delay::{CommitDelay, Notify},
    connection::WriterConnection,
    group::Committer,
    job::{Job, Task},
    tally::Tally,
};
use crate::{
    error::{Failure, WriteFailure},
    pets::idempotency::recent::RecentRecords,
    presence::Presence,
    sync::{
        recv_many,
        thread::{self, JoinHandle},
    },
    version_cache::VersionCache,
    watch::WritePauses,
};

/// Writes that may wait; one more is refused at once. A few groups, so that an accepted write is
/// answered soon even when each group waits for another process.
pub(crate) const MAX_QUEUE: usize = 4096;
/// Writes in one transaction.
const MAX_GROUP: usize = 1024;

/// Hands writes to the writer's thread. Dropping it lets the thread finish what waits, and joins it.
#[derive(Debug)]
pub(crate) struct Writer {
    // In the order in which they are dropped: the thread ends when the queue is closed and empty.
    queue: mpsc::Sender<Box<dyn Job>>,
    notify: Arc<Notify>,
    tally: Arc<Tally>,
    _thread: JoinOnDrop,
}

impl Writer {
    /// Starts the thread that writes through `connection`. It pauses the read lock for each transaction, publishes new versions in `versions`, and refuses to write
    /// when a file is lost (`presence`).
    pub(crate) fn start(
        connection: WriterConnection,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
        write_pauses: WritePauses,
    ) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(MAX_QUEUE);
        let delay = CommitDelay::new(MAX_GROUP);
        let notify = Arc::clone(delay.notify());
        let runtime = Handle::try_current().ok();
        let tally = Arc::<Tally>::default();
        let mut committer = Committer { connection, versions, presence, tally: Arc::clone(&tally) };
        let thread = thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
            run(&mut committer, &write_pauses, jobs, delay, runtime.as_ref());
        })?;
        Ok(Self { queue, notify, tally, _thread: JoinOnDrop(Some(thread)) })
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
        let (caller, answer) = oneshot::channel();
        self.queue.try_send(Box::new(Task::new(work, caller))).map_err(|refusal| {
            StoreError::from(match refusal {
                mpsc::error::TrySendError::Full(_) => WriteFailure::QueueFull { max: MAX_QUEUE },
                mpsc::error::TrySendError::Closed(_) => WriteFailure::Stopped,
            })
        })?;
        self.notify.queued(self.queue_length());
        answer.await.unwrap_or_else(|_| Err(StoreError::from(WriteFailure::Stopped).into()))
    }

    /// What has been committed since the start.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How many writes wait.
    pub(crate) fn queue_length(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

/// The life of the thread. It never ends because something failed.
fn run(
    committer: &mut Committer,
    write_pauses: &WritePauses,
    mut jobs: mpsc::Receiver<Box<dyn Job>>,
    mut delay: CommitDelay,
    runtime: Option<&Handle>,
) {
    let mut next = Vec::new();
    while recv_many(&mut jobs, &mut next, MAX_GROUP) > 0 {
        delay.wait(&mut next, &mut jobs);
        let pause = write_pauses.begin();
        let group = committer.commit(&mut next);
        delay.note_commit(group.len() + jobs.len(), group.commit_time());
        group.answer(runtime);
        pause.end(!jobs.is_empty());
    }
}

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
