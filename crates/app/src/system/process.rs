//! The process in its system: the signals that it answers, and its limits on the size of a core dump and on open files.
//!
//! A handler that was once made stays for the life of the process.

use std::{
    future, io,
    num::NonZeroUsize,
    ops::ControlFlow,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::{Instant, sleep},
};

use crate::system::failure::Failure;

/// Two equal signals within this are one: timeout(1) sends each to the process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(200);
/// Gives the log's own thread the time to write the last line.
const LAST_LINE: Duration = Duration::from_millis(50);
/// Open files that the service would like to have besides connections: for the store, the log, the listeners.
const OWN_FILES: u64 = 1000;
/// Open files that connections never take. Measured on two processors, with 64 clients: besides their
/// connections the service had 24 files open on SQLite, and 29 on PostgreSQL with its pool of 16.
const RESERVED_FILES: u64 = 48;

/// SIGTERM and SIGINT: the first asks for a stop, the second ends the process.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    stop: watch::Receiver<bool>,
    /// `true` if the log has the line that says how the process ends.
    is_end_logged: Arc<AtomicBool>,
}

impl Signals {
    /// Replaces the default actions of the signals. To be called before anything that a signal must
    /// not interrupt.
    ///
    /// The second signal ends the process with exit code 1, whatever it is doing: the task that
    /// waits for it depends on no other.
    pub(crate) fn take_over() -> Result<Self, Failure> {
        survive_file_size_limit()?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut interrupt = listen(SignalKind::interrupt())?;
        let (asked, stop) = watch::channel(false);
        let signals = Self { stop, is_end_logged: Arc::default() };
        let ending = signals.clone();
        tokio::spawn(async move {
            let (first, began) = (next(&mut terminate, &mut interrupt).await, Instant::now());
            tracing::info!(signal = first, "stopping; a second signal would stop at once");
            asked.send_replace(true);
            let mut second = next(&mut terminate, &mut interrupt).await;
            while second == first && began.elapsed() < ONE_SIGNAL {
                second = next(&mut terminate, &mut interrupt).await;
            }
            if ending.is_first_end() {
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

    /// Returns `true` to the one caller that may log how the process ends.
    pub(crate) fn is_first_end(&self) -> bool {
        !self.is_end_logged.swap(true, Ordering::Relaxed)
    }

    /// Returns whether the first signal has come.
    pub(crate) fn stop_asked(&self) -> bool {
        *self.stop.borrow()
    }

    /// Returns whether work goes on: not once the first signal has come.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.stop_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Resolves at the first signal, also if it came before.
    pub(crate) async fn stop(mut self) {
        if self.stop.wait_for(|asked| *asked).await.is_err() {
            // The task that waits for signals has ended, so none can ask for a stop.
            future::pending::<()>().await;
        }
    }
}

/// Listens for SIGHUP, which asks a service to read again what it can. From now on it ends nothing, nor do SIGUSR1 and
/// SIGUSR2, which say nothing to a service.
pub(crate) fn hangups() -> Result<Signal, Failure> {
    for ignored in [SignalKind::user_defined1(), SignalKind::user_defined2()] {
        drop(listen(ignored)?);
    }
    listen(SignalKind::hangup())
}

/// Turns a write beyond the limit on the size of files into an error of that write: by default
/// SIGXFSZ kills the process.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    /// On Linux and on the BSDs, except on the MIPS processor.
    const SIGXFSZ: i32 = 25;
    listen(SignalKind::from_raw(SIGXFSZ)).map(drop)
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    let failed = |error: io::Error| Failure::runtime(format!("cannot listen to signals: {error}"));
    signal(kind).map_err(failed)
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

/// Sets the soft limit on the size of a core dump to 0: the memory of the process has API keys and the passwords
/// of store URLs. The hard limit stays, so that who may look into the process can raise the soft one again
/// (prlimit(1)).
pub(crate) fn disable_core_dumps() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // To lower a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

/// Raises the soft limit on open files, as far as the hard one lets it, to what `max_connections` need.
/// Common soft limits are far below, and a process without a free descriptor cannot read its store either.
///
/// Returns how many connections may be served at once: fewer than `max_connections` if the limit leaves
/// too little for the store.
pub(crate) fn raise_open_files(max_connections: NonZeroUsize) -> Result<NonZeroUsize, Failure> {
    let wanted = OWN_FILES.saturating_add(max_connections.get() as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let possible = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let mut limit = current.unwrap_or(u64::MAX);
    if limit < possible
        && setrlimit(Resource::Nofile, Rlimit { current: Some(possible), maximum }).is_ok()
    {
        limit = possible;
    }
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
        "fewer files may be open than --max-connections needs; fewer connections are served at once"
    );
    Ok(connections)
}
