//! The signals of the process, and its limits on core dumps and open files. A signal handler stays installed for the
//! life of the process.

use std::{
    num::NonZeroUsize,
    ops::ControlFlow,
    process,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::system::Failure;

/// The time within which two equal signals count as one: timeout(1) signals the process and its group.
const ONE_SIGNAL: Duration = Duration::from_millis(200);
/// The time for the log thread to write the last line.
const LAST_LINE: Duration = Duration::from_millis(50);
/// The desired number of open files besides connections: for the store, the log and the listeners.
const OWN_FILES: u64 = 1000;
/// The number of open files that connections never take. Measured on two processors with 64 clients: besides connections,
/// the service had 24 open files on SQLite, and 29 on PostgreSQL with a pool of 16.
const RESERVED_FILES: u64 = 48;

/// SIGTERM and SIGINT. The first signal requests a stop; the second ends the process. The default receives no signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// Canceled at the first signal.
    pub(crate) stop: CancellationToken,
    /// Set by the task that logs how the process ends.
    pub(crate) end_logged: Arc<OnceLock<()>>,
}

impl Signals {
    /// Replaces the default actions of the signals. Call this method before work that a signal must not interrupt.
    ///
    /// A separate task waits for the second signal, and then ends the process with exit code 1, whatever the process is
    /// doing.
    pub(crate) fn take_over() -> Result<Self, Failure> {
        survive_file_size_limit()?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut interrupt = listen(SignalKind::interrupt())?;
        let signals = Self::default();
        let ending = signals.clone();
        tokio::spawn(async move {
            let (first, began) = (next(&mut terminate, &mut interrupt).await, Instant::now());
            tracing::info!(signal = first, "stopping; a second signal stops at once");
            ending.stop.cancel();
            let mut second = next(&mut terminate, &mut interrupt).await;
            while second == first && began.elapsed() < ONE_SIGNAL {
                second = next(&mut terminate, &mut interrupt).await;
            }
            if ending.end_logged.set(()).is_ok() {
                tracing::warn!(
                    signal = second,
                    "stopped at once: connections may have been cut off"
                );
            }
            sleep(LAST_LINE).await;
            process::exit(1);
        });
        Ok(signals)
    }

    /// Returns why work has failed: `stopped` after the first signal, which may have ended the work; otherwise `failure`.
    pub(crate) fn stopped_or(&self, stopped: &str, failure: Failure) -> Failure {
        if self.stop.is_cancelled() { Failure::runtime(stopped) } else { failure }
    }

    /// Breaks once the first signal has arrived.
    pub(crate) fn control_flow(&self) -> ControlFlow<()> {
        if self.stop.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the stream of SIGHUP, which requests a reload. From now on, SIGHUP, SIGUSR1 and SIGUSR2 do not end the
/// process.
pub(crate) fn hangups() -> Result<Signal, Failure> {
    for ignored in [SignalKind::user_defined1(), SignalKind::user_defined2()] {
        drop(listen(ignored)?);
    }
    listen(SignalKind::hangup())
}

/// Makes a write beyond the limit on file sizes fail. By default, SIGXFSZ kills the process.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    /// The number on Linux and on the BSDs, except on MIPS processors.
    const SIGXFSZ: i32 = 25;
    listen(SignalKind::from_raw(SIGXFSZ)).map(drop)
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(Failure::context("cannot listen to signals"))
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

/// Sets the soft limit on core dumps to 0, because the memory of the process contains API keys and passwords. The hard
/// limit stays, so that an administrator can raise the soft limit again (prlimit(1)).
pub(crate) fn disable_core_dumps() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // Lowering a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

/// Raises the soft limit on open files to the number that `max_connections` needs, as far as the hard limit permits.
/// Common soft limits are far lower. A process without a free descriptor cannot read its store.
///
/// Returns the number of connections that may be served at the same time, which is below `max_connections` if the limit
/// is too low.
pub(crate) fn raise_open_files(max_connections: NonZeroUsize) -> Result<NonZeroUsize, Failure> {
    let wanted = OWN_FILES.saturating_add(max_connections.get() as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let possible = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = Rlimit { current: current.map(|current| current.max(possible)), maximum };
    // If the system refuses, the limit stays.
    let _ = setrlimit(Resource::Nofile, raised);
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if limit >= wanted {
        return Ok(max_connections);
    }
    let left = usize::try_from(limit.saturating_sub(RESERVED_FILES)).unwrap_or(usize::MAX);
    let connections = NonZeroUsize::new(left.min(max_connections.get())).ok_or_else(|| {
        Failure::runtime(format_args!(
            "only {limit} files may be open, and serving needs at least {}; \
             raise the limit on open files (ulimit -n)",
            RESERVED_FILES + 1
        ))
    })?;
    tracing::warn!(
        limit,
        wanted,
        connections,
        "the limit on open files is too low for --max-connections; fewer connections are served at once"
    );
    Ok(connections)
}
