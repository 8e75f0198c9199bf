//! Writes: one thread, one connection, group commit. The queue, groups and answers are `petstore-storage`'s.

mod group;
mod transaction;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet, StoreError};
use petstore_storage::{
    PanicGuard,
    writer::{self as queue, Jobs, Work},
};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{group::Committer, transaction::WriteTransaction};
use crate::{activity::Activity, error::Failure};

/// The largest number of writes in one transaction.
const MAX_GROUP: usize = 1024;

/// How long this process may write without leaving SQLite's write lock free for [`FREE`]. The lock
/// has no queue: a process that waits for it polls, and would starve beside a writer that begins its next
/// transaction at once.
const TURN: Duration = Duration::from_millis(100);

/// Longer than the other processes' interval between two polls (`connection.rs`).
pub(crate) const FREE: Duration = Duration::from_millis(2);

/// Hands writes to the writer's thread. Dropping it lets the thread finish what waits, and joins it.
#[derive(Debug)]
pub(crate) struct Writer {
    // In the order in which they are dropped: the thread ends when the queue is closed and empty.
    queue: queue::Writer<Work<Connection>>,
    tally: Arc<Tally>,
    _thread: JoinOnDrop,
}

/// The number of transactions since the store was opened, and of the writes in them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commits: AtomicU64,
    writes: AtomicU64,
}

impl Tally {
    fn note(&self, writes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
    }
}

impl Writer {
    /// Starts the thread that writes through `committer`, and answers on `runtime`.
    pub(crate) fn start(
        mut committer: Committer,
        runtime: Handle,
        on_panic: &CancellationToken,
    ) -> io::Result<Self> {
        // A transaction waits for another process's lock, and for nothing else that has no end.
        let (queue, jobs) = queue::channel(MAX_GROUP, None);
        let tally = Arc::<Tally>::default();
        let (guard, counts) = (PanicGuard(on_panic.clone()), Arc::clone(&tally));
        let thread = thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
            let _guard = guard;
            run(&mut committer, jobs, &counts, &runtime);
        })?;
        Ok(Self { queue, tally, _thread: JoinOnDrop(Some(thread)) })
    }

    /// Adds an animal: `PetRepository::add`.
    pub(crate) async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.queue.add(pet, request).await
    }

    /// Runs `work` in a transaction and returns what it returned, once that is committed. It changes no animals.
    ///
    /// From the first poll on the work is done whole or not at all, whether or not the future is
    /// polled again. If it fails, the rest of the transaction is committed.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = |connection: &mut Connection| work(connection).map_err(Failure::into_error);
        self.queue.run(|reply| Work::new(work, reply)).await
    }

    /// Returns how busy the writer is. It knows of no reads.
    pub(crate) fn activity(&self) -> Activity {
        Activity {
            commits: self.tally.commits.load(Ordering::Relaxed),
            writes: self.tally.writes.load(Ordering::Relaxed),
            write_queue: self.queue.waiting(),
            read_queue: 0,
        }
    }
}

/// Runs until the queue is closed and empty. It never ends because something failed.
fn run(
    committer: &mut Committer,
    mut jobs: Jobs<Work<Connection>>,
    tally: &Tally,
    runtime: &Handle,
) {
    let (mut turn, mut ended) = (Instant::now(), Instant::now());
    while let Some(mut group) = jobs.blocking_next(0) {
        let is_over = turn.elapsed() >= TURN;
        if is_over {
            thread::sleep(FREE.saturating_sub(ended.elapsed()));
            group.append(&mut jobs.ready(group.len()));
        }
        if is_over || ended.elapsed() >= FREE {
            turn = Instant::now();
        }
        let answers = committer.commit(group, tally);
        ended = Instant::now();
        answers.send_on(runtime);
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
