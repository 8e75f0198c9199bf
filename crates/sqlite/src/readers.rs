//! Reads: on the runtime's workers as long as others stay free, else on threads that may wait.
//!
//! **What.** A read is a task of its own. The request that waits for it can therefore time out, and its client's leaving
//! is noticed. A worker that is in a read can do nothing else, and on a disk that hangs it never comes back. So at most
//! all workers but one read at a time, and the other reads go to the threads of `queue.rs`. A worker that waits for
//! sockets and timers may be the one that begins to read, and tokio lets no other take its place before that one is done.
//! So while there are reads on workers, the watch wakes a worker now and then.
//!
//! **What it buys.** While the disk hangs or is slow, all that needs no read goes on: health, refusals, timeouts and
//! writes.
//!
//! **What it costs.** About a microsecond for each read: a task that a worker spawns runs next on the same worker, and
//! no other thread is woken for it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use petstore_domain::StoreError;
use petstore_storage::VersionCache;
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    error::Failure,
    pool::Pool,
    presence::Presence,
    queue::Queue,
    watch::{Shared, Watch},
};

/// Runs reads.
#[derive(Debug)]
pub(crate) struct Readers {
    // In the order in which they are dropped: the watch adds threads to the queue.
    pub(crate) watch: Watch,
    queue: Arc<Queue>,
    pub(crate) pool: Arc<Pool>,
    presence: Arc<Presence>,
    runtime: Handle,
    workers: Arc<Workers>,
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
        let workers = Arc::new(Workers { reading: AtomicUsize::new(0), max: max_workers });
        let queue = Arc::new(Queue::start()?);
        let watch = Watch::start(Shared {
            on_panic: on_panic.clone(),
            pool: Arc::clone(&pool),
            versions,
            presence: Arc::clone(&presence),
            runtime: runtime.clone(),
            workers: Arc::clone(&workers),
            queue: Arc::clone(&queue),
            in_use: false.into(),
            closed: false.into(),
        })?;
        Ok(Self { watch, queue, pool, presence, runtime, workers })
    }

    /// Runs `read`. Once it has begun it runs to its end, whether or not the future is polled again.
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
        // The use is noted afterwards, so that the watch sees the read before it sleeps.
        if let Some(worker) = Worker::take(&self.workers) {
            let task = self.runtime.spawn(async move {
                let _worker = worker;
                read()
            });
            self.watch.note_use();
            return task.await.map_err(StoreError::unavailable)?;
        }
        let answer = self.queue.push(read)?;
        self.watch.note_use();
        answer.await.map_err(|_| StoreError::unavailable("the read has panicked"))?
    }

    /// Returns how many reads wait for a thread.
    pub(crate) fn queue_length(&self) -> usize {
        self.queue.len()
    }
}

/// The workers of the runtime that read at this moment.
#[derive(Debug)]
pub(crate) struct Workers {
    reading: AtomicUsize,
    max: usize,
}

impl Workers {
    /// Returns whether a worker reads.
    pub(crate) fn are_reading(&self) -> bool {
        self.reading.load(Ordering::SeqCst) > 0
    }
}

/// The permit of a worker that reads.
struct Worker(Arc<Workers>);

impl Worker {
    /// Returns a permit, unless it would be that of the last free worker.
    fn take(workers: &Arc<Workers>) -> Option<Self> {
        let next = |reading| (reading < workers.max).then_some(reading + 1);
        let taken = workers.reading.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        taken.is_ok().then(|| Self(Arc::clone(workers)))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, Ordering::SeqCst);
    }
}
