//! Writes: one thread, one connection, group commit.

mod answers;
mod gathering;
mod job;
mod session;

use std::{
    io, mem,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Instant,
};

use petstore_domain::StoreError;
use rusqlite::Connection;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

pub(crate) use self::session::Session;
use self::{
    answers::Answers,
    gathering::{Bell, Gathering, PATIENCE},
    job::{Job, Task},
};
use crate::{
    board::Board,
    error::{Failure, WriteFailure},
    standing_read::Stand,
    version::{Change, Renewal},
};

/// Writes that may wait; one more is refused at once. A few groups, so that who gets in is answered
/// soon even when each group waits for another process.
pub(crate) const QUEUE: usize = 4096;
/// Writes in one transaction.
const GROUP: usize = 1024;

/// The way to the writer's thread. Dropping it lets the thread finish what waits, and joins it.
#[derive(Debug)]
pub(crate) struct Writer {
    // In the order in which they are dropped: the thread ends when the queue is closed and empty.
    queue: mpsc::Sender<Box<dyn Job>>,
    bell: Arc<Bell>,
    _thread: JoinOnDrop,
}

impl Writer {
    /// Starts the thread that writes through `connection`, to which `stand` gives way and whose
    /// commits `board` follows.
    pub(crate) fn start(
        connection: Connection,
        renewal: Renewal,
        board: Arc<Board>,
        stand: Arc<Stand>,
    ) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let runtime = Handle::try_current().ok();
        let gathering = Gathering::new(PATIENCE);
        let bell = Arc::clone(gathering.bell());
        let thread = thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
            run(&connection, &renewal, &board, &stand, jobs, gathering, runtime.as_ref());
        })?;
        Ok(Self { queue, bell, _thread: JoinOnDrop(Some(thread)) })
    }

    /// Runs `work` in a transaction and returns what it returned, once that is committed.
    ///
    /// From the first poll on the work is done whole or not at all, whether or not the future is
    /// polled again.
    pub(crate) async fn write<T, E>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, Failure<E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        self.queue.try_send(Box::new(Task::new(work, caller))).map_err(
            |refusal| match refusal {
                mpsc::error::TrySendError::Full(_) => failed(WriteFailure::QueueFull),
                mpsc::error::TrySendError::Closed(_) => failed(WriteFailure::Stopped),
            },
        )?;
        self.bell.ring(self.queue.max_capacity() - self.queue.capacity());
        answer.await.unwrap_or_else(|_| Err(failed(WriteFailure::Stopped)))
    }
}

fn failed<E: From<StoreError>>(failure: WriteFailure) -> E {
    StoreError::from(failure).into()
}

/// The life of the thread. It never ends because something failed.
fn run(
    connection: &Connection,
    renewal: &Renewal,
    board: &Board,
    stand: &Stand,
    mut jobs: mpsc::Receiver<Box<dyn Job>>,
    mut gathering: Gathering,
    runtime: Option<&Handle>,
) {
    let session = Session::over(connection);
    let mut group = Vec::new();
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        gathering.gather(&mut group, &mut jobs, GROUP);
        let began = Instant::now();
        let way = stand.give_way();
        let outcome = commit(&session, renewal, &mut group).map_err(Arc::new);
        drop(way);
        match outcome {
            Ok(Some(change)) => board.follow(change),
            Ok(None) | Err(_) => board.renew(),
        }
        gathering.note(group.len(), jobs.len(), began);
        Answers::of(mem::take(&mut group), outcome.map(drop)).give(runtime);
        if jobs.is_empty() {
            stand.resume();
        }
    }
}

/// Runs the group in one transaction; what that has made of the catalogue's mark. If anything fails,
/// none of it has happened.
fn commit(
    session: &Session<'_>,
    renewal: &Renewal,
    group: &mut [Box<dyn Job>],
) -> rusqlite::Result<Option<Change>> {
    let transaction = session.begin()?;
    for job in group {
        job.run(session)?;
    }
    let change = renewal.renew(&transaction)?;
    transaction.commit()?;
    Ok(change)
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
