//! Shuttle's locks, atomics and threads, and a clock that moves only while a thread waits for it. All
//! threads of a schedule run on one thread of the system.

use std::{
    cell::Cell,
    ops::{Add, Sub},
    time::Duration,
};

pub(crate) use shuttle::sync::{Mutex, MutexGuard, RwLock, atomic};
use tokio::sync::mpsc;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static TIMEOUTS_END: Cell<bool> = const { Cell::new(true) };
}

/// As `std::time::Instant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Self {
        Self(NOW.get())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now() - self
    }

    pub(crate) fn saturating_duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Whether timeouts of threads that park end. If they do not, a wake that is lost is a deadlock, which
/// shuttle reports.
pub(crate) fn let_timeouts_end(end: bool) {
    TIMEOUTS_END.set(end);
}

/// As tokio's `blocking_recv_many`, which would block all threads of the schedule.
pub(crate) fn recv_many<T>(
    queue: &mut mpsc::Receiver<T>,
    buffer: &mut Vec<T>,
    max: usize,
) -> usize {
    shuttle::future::block_on(queue.recv_many(buffer, max))
}

pub(crate) mod thread {
    use std::{io, sync::Arc, time::Duration};

    use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use shuttle::thread::{Thread, current, park};

    use super::{NOW, TIMEOUTS_END};

    pub(crate) struct Builder(shuttle::thread::Builder);

    impl Builder {
        pub(crate) fn new() -> Self {
            Self(shuttle::thread::Builder::new())
        }

        pub(crate) fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }

        pub(crate) fn spawn<T: Send + 'static>(
            self,
            work: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            let finished = Arc::new(AtomicBool::new(false));
            let at_end = Arc::clone(&finished);
            let handle = self.0.spawn(move || {
                let result = work();
                at_end.store(true, Ordering::SeqCst);
                result
            })?;
            Ok(JoinHandle { handle, finished })
        }
    }

    /// With `is_finished`, which shuttle's does not have.
    #[derive(Debug)]
    pub(crate) struct JoinHandle<T> {
        handle: shuttle::thread::JoinHandle<T>,
        finished: Arc<AtomicBool>,
    }

    impl<T> JoinHandle<T> {
        pub(crate) fn thread(&self) -> &Thread {
            self.handle.thread()
        }

        pub(crate) fn is_finished(&self) -> bool {
            self.finished.load(Ordering::SeqCst)
        }

        pub(crate) fn join(self) -> std::thread::Result<T> {
            self.handle.join()
        }
    }

    /// Others run, and then the time is over; nobody need have woken the thread.
    pub(crate) fn sleep(time: Duration) {
        shuttle::thread::yield_now();
        NOW.set(NOW.get() + time);
    }

    pub(crate) fn park_timeout(time: Duration) {
        if TIMEOUTS_END.get() { sleep(time) } else { park() }
    }
}
