//! Writes on one thread and one connection, in groups. `petstore-storage` has the queue, groups and answers.

mod group;

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use petstore_domain::{ArchiveError, StoreError, WriterRole};
use petstore_storage::{
    PanicGuard,
    writer::{self as queue, Add, Job, Jobs, Reply},
};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::group::Session;
use crate::{
    connection::Statements,
    error::{self, Failure},
    readers::Pool,
};

/// The largest number of additions in one transaction.
const MAX_GROUP: usize = 1024;

/// The longest time that this process writes without releasing SQLite's write lock for [`FREE`]. The lock has no queue:
/// processes that poll for it would starve beside a writer without pauses.
const TURN: Duration = Duration::from_millis(100);

/// The pause after a turn: longer than the interval in which other processes poll (`connection.rs`).
const FREE: Duration = Duration::from_millis(2);

/// A write other than an addition. Runs in its own transaction, and answers its caller. Gets an error if an earlier
/// write of the group did not get the lock, or left the connection in doubt.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Session<'_>, StoreError>) + Send>;

/// Additions, which share a transaction, and other writes.
type Group = (Vec<Add>, Vec<Work>);

/// The activity of this process on a store since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The number of committed transactions.
    pub commits: u64,
    /// The number of writes in these transactions: additions, changes of keys, purges, batches of copied rows.
    pub writes: u64,
    /// The number of writes that wait for the writer now.
    pub write_queue: usize,
    /// The number of reads that wait for a thread now.
    pub read_queue: usize,
}

/// Sends writes to the writing thread. Dropping this value waits until the queued writes are done.
pub(crate) struct Writer {
    // Fields are dropped in this order: the thread ends once the queue is closed and empty.
    pub(crate) queue: queue::Writer<Work>,
    _thread: JoinOnDrop,
}

impl Writer {
    /// Starts the thread, which writes through `connection` and answers on `runtime`.
    pub(crate) fn start(
        pool: Arc<Pool>,
        connection: Connection,
        runtime: Handle,
        on_panic: &CancellationToken,
    ) -> io::Result<Self> {
        // Callers need no timeout, because a transaction waits for the lock only up to the busy timeout.
        let (queue, jobs) = queue::channel(MAX_GROUP, None);
        let guard = PanicGuard(on_panic.clone());
        let alone = VecDeque::new();
        let groups = Groups { jobs, alone, turn: Instant::now(), ended: Instant::now() };
        let thread = thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
            let _guard = guard;
            run(&pool, connection, groups, &runtime);
        })?;
        Ok(Self { queue, _thread: JoinOnDrop(Some(thread)) })
    }

    /// Runs `work`, which changes no animals, in a transaction. Returns its result after the commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = |statements: &mut Statements<'_>| Ok((work(statements.connection)?, None));
        self.transaction(WriterRole::Service, work).await.map_err(error::of_archive)
    }

    /// Runs `work` in a transaction. Returns the result of `work` after the commit. Beside the result, `work` returns
    /// the increase of `rewrites`: `None` if no animal has changed, 0 if animals were only added, otherwise 1.
    pub(crate) async fn transaction<T: Send + 'static>(
        &self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<(T, Option<i64>), Failure> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let write = |reply: Reply<T, ArchiveError>| -> Work {
            Box::new(move |session| {
                let work = |statements: &mut Statements<'_>| {
                    if reply.is_abandoned() {
                        return Err(StoreError::unavailable("its caller has left").into());
                    }
                    work(statements)
                };
                let done =
                    session.map_err(ArchiveError::from).and_then(|it| it.write(writer, work));
                reply.send(done);
            })
        };
        self.queue.run(write).await
    }
}

/// Writes until the queue is closed and empty. A failure does not end the loop.
fn run(pool: &Pool, connection: Connection, mut groups: Groups, runtime: &Handle) {
    let mut opened = Ok(connection);
    let mut next = groups.next();
    while let Some(group) = next {
        next = Session::new(pool, &opened).run(group, &mut groups, runtime);
        if next.is_some() {
            opened = group::reopen(pool);
        }
    }
}

/// Forms groups of jobs, and pauses between turns.
struct Groups {
    jobs: Jobs<Work>,
    /// Additions whose group met a damaged page. Each becomes a group of its own.
    alone: VecDeque<Add>,
    /// The start of the turn of this process.
    turn: Instant,
    /// The time at which the last group ended.
    ended: Instant,
}

impl Groups {
    /// Waits for additions and other writes. Returns `None` when the queue is closed and empty.
    fn next(&mut self) -> Option<Group> {
        if let Some(add) = self.alone.pop_front() {
            return Some((vec![add], Vec::new()));
        }
        let mut group = self.jobs.blocking_next(0)?;
        let is_over = self.turn.elapsed() >= TURN;
        if is_over {
            thread::sleep(FREE.saturating_sub(self.ended.elapsed()));
            group.append(&mut self.jobs.ready(group.len()));
        }
        if is_over || self.ended.elapsed() >= FREE {
            self.turn = Instant::now();
        }
        let (mut adds, mut others) = (Vec::with_capacity(group.len()), Vec::new());
        for job in group {
            match job {
                Job::Add(add) => adds.push(add),
                Job::Other(work) => others.push(work),
            }
        }
        Some((adds, others))
    }
}

struct JoinOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // Fails only if the thread has panicked, which was reported then.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, time::Instant};

    use petstore_domain::StoreError;

    use super::{FREE, Groups, Reply, TURN, Work, queue};
    use crate::tests::begin;

    #[test]
    fn after_a_turn_the_lock_is_free_for_a_pause_since_the_last_group() {
        let (queue, jobs) = queue::channel::<Work>(1, None);
        let job = |reply: Reply<(), StoreError>| -> Work { Box::new(|_| drop(reply)) };
        let _queued = [(); 2].map(|()| begin(queue.run(job)));
        let ended = Instant::now();
        let turn = ended.checked_sub(TURN).unwrap();
        let mut groups = Groups { jobs, alone: VecDeque::new(), turn, ended };
        assert_eq!(groups.next().unwrap().1.len(), 1);
        assert!(ended.elapsed() >= FREE, "{:?}", ended.elapsed());
        assert!(groups.turn > ended, "the next turn has not begun");
    }
}
