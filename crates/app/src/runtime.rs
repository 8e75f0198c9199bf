//! The threads that everything runs on.

use std::{env, num::NonZero, thread, time::Duration};

use tokio::runtime::Builder;

use crate::failure::Failure;

/// How long tasks that are left over at the end may take to stop.
const LEFT_OVERS: Duration = Duration::from_secs(1);

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
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVERS);
    done
}
