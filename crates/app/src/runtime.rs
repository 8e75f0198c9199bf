//! The threads that everything runs on.

use std::{thread, time::Duration};

use tokio::runtime::{Builder, Handle};

use crate::failure::Failure;

/// How long tasks that are left over at the end may take to stop.
const LEFT_OVERS: Duration = Duration::from_secs(1);

/// So many tasks for each thread, nearly all of them connections, are many. Measured: see
/// `docs/PERFORMANCE.md`.
const MANY: usize = 16;

/// Runs `work` to its end, on a thread for each processor.
pub(crate) fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .on_thread_park(give_way)
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVERS);
    done
}

/// Among many connections, lets who else wants the processor have it before this thread sleeps.
///
/// Whoever that is, a client, a proxy or the store's writer, is about to give it more work, and
/// what they give meanwhile is found at once: it would have woken the thread piece by piece. With
/// few connections a thread that sleeps soon is woken on whichever processor is free, and answers
/// sooner. Where nobody else wants the processor, giving way does nothing.
fn give_way() {
    let Ok(runtime) = Handle::try_current() else { return };
    let metrics = runtime.metrics();
    if metrics.num_alive_tasks() >= MANY * metrics.num_workers() {
        thread::yield_now();
    }
}
