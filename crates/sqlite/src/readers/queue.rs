//! Threads for reads that find no free worker: two, and up to sixteen while the disk is slow.

use std::{
    collections::VecDeque,
    io,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    thread,
    time::Instant,
};

use petstore_domain::StoreError;
use tokio::sync::oneshot;

use super::{Shared, watch::TICK};

/// The number of permanent threads. While the disk is quick, more threads than processors only cost time.
pub(crate) const MIN_THREADS: usize = 2;

/// The largest number of threads while the disk is slow. Each may open a connection, which needs two file descriptors.
const MAX_THREADS: usize = 16;

/// The largest number of queued reads. Another read fails at once.
const MAX_QUEUE: usize = 4096;

/// The queued reads in their order.
#[derive(Default)]
pub(crate) struct Queue {
    /// Reads with the time at which they were queued.
    pub(crate) waiting: VecDeque<(Instant, Box<dyn FnOnce() + Send>)>,
    threads: usize,
    idle: usize,
}

impl Queue {
    /// Returns whether another thread is needed, because a read has waited for a [`TICK`].
    pub(super) fn needs_thread(&self) -> bool {
        let is_late = self.waiting.front().is_some_and(|(since, _)| since.elapsed() >= TICK);
        is_late && self.threads < MAX_THREADS
    }
}

impl Shared {
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `read` for a thread. The read does not run if the receiver is dropped first.
    pub(crate) fn push<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let (caller, answer) = oneshot::channel();
        let job = move || {
            if !caller.is_closed() {
                // Fails only if the caller has dropped the receiver.
                drop(caller.send(read()));
            }
        };
        let mut queue = self.queue();
        if queue.waiting.len() >= MAX_QUEUE {
            let reason = format!("the disk is too slow ({MAX_QUEUE} reads wait)");
            return Err(StoreError::unavailable(reason));
        }
        queue.waiting.push_back((Instant::now(), Box::new(job)));
        if queue.idle > 0 {
            self.changed.notify_one();
        }
        Ok(answer)
    }

    /// Adds a thread that runs the queued reads.
    pub(crate) fn add_thread(self: &Arc<Self>, queue: &mut Queue) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new()
            .name("sqlite-reader".to_owned())
            .spawn(move || shared.run_reads())?;
        queue.threads += 1;
        Ok(())
    }

    /// Runs reads until the store is closed. A thread above [`MIN_THREADS`] ends when the queue is empty.
    fn run_reads(&self) {
        let mut queue = self.queue();
        loop {
            if let Some((_, job)) = queue.waiting.pop_front() {
                drop(queue);
                // A panic drops the sender, so the caller receives an error.
                drop(panic::catch_unwind(AssertUnwindSafe(job)));
                queue = self.queue();
            } else if self.is_open() && queue.threads <= MIN_THREADS {
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            } else {
                queue.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::time::sleep;

    use super::{MAX_THREADS, MIN_THREADS, Queue, TICK};
    use crate::tests::Place;

    #[tokio::test]
    async fn an_added_thread_ends_when_no_read_waits() {
        let place = Place::new();
        let store = place.open();
        let shared = &store.readers.shared;
        shared.add_thread(&mut shared.queue()).unwrap();
        let began = Instant::now();
        while shared.queue().threads != MIN_THREADS {
            assert!(began.elapsed() < Duration::from_secs(10), "{}", shared.queue().threads);
            sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn a_thread_is_needed_if_the_first_read_has_waited_for_a_tick() {
        let needs_thread = |waited, threads| {
            let mut queue = Queue { threads, ..Queue::default() };
            let now = Instant::now();
            for since in [now.checked_sub(waited).unwrap(), now] {
                queue.waiting.push_back((since, Box::new(|| ())));
            }
            queue.needs_thread()
        };
        assert!(needs_thread(TICK, MIN_THREADS));
        assert!(needs_thread(TICK, MAX_THREADS - 1));
        assert!(!needs_thread(TICK / 10, MIN_THREADS));
        assert!(!needs_thread(TICK, MAX_THREADS));
        assert!(!Queue::default().needs_thread());
    }
}
