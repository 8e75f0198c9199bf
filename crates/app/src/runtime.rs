//! The threads that everything runs on.

use std::{env, num::NonZero, thread, time::Duration};

use tokio::runtime::{Builder, Handle};

use crate::failure::Failure;

/// How long tasks that are left over at the end may take to stop.
const LEFT_OVERS: Duration = Duration::from_secs(1);

/// From so many tasks a thread on, nearly all of them connections, threads yield before they sleep.
/// Measured: see `docs/PERFORMANCE.md`.
const YIELD_FROM_TASKS: usize = 16;

/// Says how many worker threads there are.
const WORKERS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// Runs `work` to its end, on a thread for each processor and one more: a store may block all threads
/// but one, in reads from a disk that hangs, and the last one answers what needs no read.
pub(crate) fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut builder = Builder::new_multi_thread();
    if env::var_os(WORKERS_VARIABLE).is_none_or(|value| value.is_empty()) {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        builder.worker_threads(processors + 1);
    }
    let runtime = builder
        .enable_all()
        .on_thread_park(yield_before_sleep)
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVERS);
    done
}

/// Among many connections, gives other threads the processor before this one sleeps.
///
/// A client, a proxy or the store's writer is about to give it more work. What they send meanwhile
/// is found at once, instead of waking the thread piece by piece. With few connections a thread that
/// sleeps is woken on whichever processor is free, and answers sooner. Where no other thread waits for
/// the processor, this costs one system call.
fn yield_before_sleep() {
    let Ok(runtime) = Handle::try_current() else { return };
    let metrics = runtime.metrics();
    if metrics.num_alive_tasks() >= YIELD_FROM_TASKS * metrics.num_workers() {
        thread::yield_now();
    }
}
