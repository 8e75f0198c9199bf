//! Where reads run: on the runtime's workers as long as others stay free, else on threads that may wait.
//!
//! **What.** A read is a task of its own. The request that waits for it can therefore time out, and its
//! client's leaving is noticed. A worker that is in a read can do nothing else, and on a disk that hangs
//! it never comes back. So at most all workers but one read at a time. Further reads take one of
//! [`MAX_THREADS`] threads for blocking work, up to [`MAX_QUEUE`] of them wait for one, and one more is
//! refused. A worker that waits for sockets and timers may be the one that begins to read, and tokio
//! lets no other take its place before that one is done. So while there are reads on workers, a thread
//! wakes a worker every [`TICK`].
//!
//! **What it buys.** While the disk hangs or is slow, all that needs no read goes on: health, refusals,
//! timeouts and writes.
//!
//! **What it costs.** About a microsecond for each read: a task that a worker spawns runs next on the
//! same worker, and no other thread is woken for it. Where reads always took a thread for blocking work,
//! two threads would be woken for each of them.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use petstore_domain::StoreError;
use tokio::{runtime::Handle, sync::Semaphore};

use crate::error::ReadFailure;

/// Threads for reads that find no worker. Each may open a connection, which is two files.
const MAX_THREADS: usize = 64;

/// Reads that find no worker, running and waiting. One more is refused at once.
pub(crate) const MAX_QUEUE: usize = 4096;

/// How long sockets and timers may wait at most, when the worker that looks after them begins a read that
/// hangs.
const TICK: Duration = Duration::from_millis(10);

/// Runs reads. Without a runtime they run on the calling thread.
#[derive(Debug)]
pub(crate) struct ReadTasks(Option<Runtime>);

#[derive(Debug)]
struct Runtime {
    handle: Handle,
    workers: Arc<Workers>,
    threads: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    waker: Waker,
}

impl ReadTasks {
    /// For the runtime in which this is called, if there is one.
    pub(crate) fn start() -> io::Result<Self> {
        let Ok(handle) = Handle::try_current() else { return Ok(Self(None)) };
        let max = handle.metrics().num_workers().saturating_sub(1).max(1);
        let workers = Arc::new(Workers { reading: AtomicUsize::new(0), max });
        let waker = Waker::start(handle.clone(), Arc::clone(&workers))?;
        let [threads, queue] = [MAX_THREADS, MAX_QUEUE].map(|max| Arc::new(Semaphore::new(max)));
        Ok(Self(Some(Runtime { handle, workers, threads, queue, waker })))
    }

    /// Runs `read`, whether or not the future is polled again.
    ///
    /// # Errors
    /// Too many reads wait, or this one has panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(runtime) = &self.0 else { return Ok(read()) };
        let task = if let Some(reading) = runtime.workers.try_read() {
            runtime.waker.note_read();
            runtime.handle.spawn(async move {
                let _reading = reading;
                read()
            })
        } else {
            let place = Arc::clone(&runtime.queue).try_acquire_owned();
            let place = place.map_err(|_| ReadFailure::QueueFull { max: MAX_QUEUE })?;
            let thread = Arc::clone(&runtime.threads).acquire_owned().await;
            let permits = (thread.map_err(StoreError::unavailable)?, place);
            runtime.handle.spawn_blocking(move || {
                let _permits = permits;
                read()
            })
        };
        task.await.map_err(StoreError::unavailable)
    }

    /// How many reads that found no worker wait or run.
    pub(super) fn queue_length(&self) -> usize {
        self.0.as_ref().map_or(0, |runtime| MAX_QUEUE - runtime.queue.available_permits())
    }
}

/// The workers that are in a read. A count, as a semaphore takes a lock for each permit that comes back.
#[derive(Debug)]
struct Workers {
    reading: AtomicUsize,
    max: usize,
}

impl Workers {
    /// A place among those that read, if there is one.
    fn try_read(self: &Arc<Self>) -> Option<Reading> {
        let reading = Reading(Arc::clone(self));
        (self.reading.fetch_add(1, Ordering::SeqCst) < self.max).then_some(reading)
    }

    fn are_reading(&self) -> bool {
        self.reading.load(Ordering::SeqCst) > 0
    }
}

/// One of the workers that read, until it is dropped.
#[derive(Debug)]
struct Reading(Arc<Workers>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Wakes a worker every [`TICK`] while there are reads on workers. Dropping it ends its thread.
#[derive(Debug)]
struct Waker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether there was a read since the thread last looked.
    reads: AtomicBool,
    closed: AtomicBool,
}

impl Waker {
    fn start(runtime: Handle, workers: Arc<Workers>) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sqlite-waker".to_owned()).spawn(move || {
            while !own.closed.load(Ordering::Relaxed) {
                if !own.reads.swap(false, Ordering::SeqCst) && !workers.are_reading() {
                    thread::park();
                    continue;
                }
                thread::sleep(TICK);
                if workers.are_reading() {
                    // The worker that runs this looks after sockets and timers when it is done.
                    runtime.spawn(async {});
                }
            }
        })?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// To be called when a read has its worker.
    fn note_read(&self) {
        // Mostly this only loads: a store would take the cache line away from the other threads.
        if !self.shared.reads.load(Ordering::SeqCst) {
            self.shared.reads.store(true, Ordering::SeqCst);
            self.thread.unpark();
        }
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}
