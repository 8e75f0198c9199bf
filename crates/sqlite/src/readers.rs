//! Reads: on the runtime's workers as long as others stay free, else on threads that may wait.
//!
//! **What.** A read is a task of its own. The request that waits for it can therefore time out, and its
//! client's leaving is noticed. A worker that is in a read can do nothing else, and on a disk that hangs
//! it never comes back. So at most all workers but one read at a time. A read that finds none free for [`PATIENCE`]
//! takes one of [`MAX_THREADS`] threads for blocking work; up to [`MAX_QUEUE`] of them wait, and one more is
//! refused. A worker that waits for sockets and timers may be the one that begins to read, and tokio
//! lets no other take its place before that one is done. So while there are reads on workers, the watch
//! wakes a worker now and then.
//!
//! **What it buys.** While the disk hangs or is slow, all that needs no read goes on: health, refusals,
//! timeouts and writes. Where more reads than workers wait, most find a worker in time, and no other thread is woken
//! for them, which is a tenth of the time of a page.
//!
//! **What it costs.** About a microsecond for each read: a task that a worker spawns runs next on the
//! same worker, and no other thread is woken for it. Where reads always took a thread for blocking work,
//! two threads would be woken for each of them.

use std::{
    io,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use petstore_domain::StoreError;
use petstore_storage::VersionCache;
use rusqlite::Connection;
use tokio::{runtime::Handle, sync::Semaphore, time};
use tokio_util::sync::CancellationToken;

use crate::{
    error::Failure,
    pool::Pool,
    presence::Presence,
    watch::{Shared, Watch},
};

/// Threads for reads that find no worker. Each may open a connection, which is two files.
const MAX_THREADS: usize = 64;

/// Reads that find no worker, running and waiting. One more is refused at once.
const MAX_QUEUE: usize = 4096;

/// How long a read waits for a worker that may read.
const PATIENCE: Duration = Duration::from_millis(2);

/// Runs reads.
#[derive(Debug)]
pub(crate) struct Readers {
    // In the order in which they are dropped: the watch may be in a read.
    pub(crate) watch: Watch,
    pub(crate) pool: Arc<Pool>,
    presence: Arc<Presence>,
    runtime: Handle,
    /// Limits the number of workers that read.
    workers: Arc<Semaphore>,
    threads: Arc<Semaphore>,
    queue: Arc<Semaphore>,
}

impl Readers {
    /// Runs reads in `runtime`, and watches the file while there are any.
    pub(crate) fn start(
        pool: Arc<Pool>,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
        runtime: Handle,
        on_panic: &CancellationToken,
    ) -> io::Result<Self> {
        let max_workers = runtime.metrics().num_workers().saturating_sub(1).max(1);
        let [workers, threads, queue] =
            [max_workers, MAX_THREADS, MAX_QUEUE].map(|max| Arc::new(Semaphore::new(max)));
        let watch = Watch::start(Shared {
            on_panic: on_panic.clone(),
            pool: Arc::clone(&pool),
            versions,
            presence: Arc::clone(&presence),
            runtime: runtime.clone(),
            workers: Arc::clone(&workers),
            max_workers,
            anchor: Mutex::default(),
            in_use: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })?;
        Ok(Self { watch, pool, presence, runtime, workers, threads, queue })
    }

    /// Runs `read`. It runs to its end, whether or not the future is polled again.
    pub(crate) async fn read<T, E>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        if let Err(lost) = self.presence.require() {
            // One of these may have opened what is at the path now.
            self.pool.clear();
            return Err(lost.into());
        }
        let pool = Arc::clone(&self.pool);
        let read = move || pool.read(read);
        let (mut worker, mut place) = (Arc::clone(&self.workers).try_acquire_owned().ok(), None);
        // Afterwards, so that the watch sees the read before it sleeps.
        self.watch.note_use();
        if worker.is_none() {
            place = Some(Arc::clone(&self.queue).try_acquire_owned().map_err(|_| {
                StoreError::unavailable(format!("the disk is too slow ({MAX_QUEUE} reads wait)"))
            })?);
            let free = time::timeout(PATIENCE, Arc::clone(&self.workers).acquire_owned()).await;
            worker = free.ok().and_then(Result::ok);
        }
        let task = if let Some(worker) = worker {
            self.runtime.spawn(async move {
                let _worker = worker;
                read()
            })
        } else {
            let thread = Arc::clone(&self.threads).acquire_owned().await;
            let permits = (thread.map_err(StoreError::unavailable)?, place);
            self.runtime.spawn_blocking(move || {
                let _permits = permits;
                read()
            })
        };
        task.await.map_err(StoreError::unavailable)?
    }

    /// Returns how many reads that found no worker wait or run.
    pub(crate) fn queue_length(&self) -> usize {
        MAX_QUEUE - self.queue.available_permits()
    }
}
