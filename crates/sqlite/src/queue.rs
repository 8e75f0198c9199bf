//! Threads for the reads that find no worker: two, and up to sixteen while the disk is slow.

use std::{
    collections::VecDeque,
    fmt, io, mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use petstore_domain::StoreError;
use tokio::sync::oneshot;

use crate::watch::TICK;

/// Threads that are always there. More than a machine has processors only cost time while the disk is quick.
pub(crate) const MIN_THREADS: usize = 2;

/// Threads while the disk is slow. Each may open a connection, which is two files.
const MAX_THREADS: usize = 16;

/// Reads that a thread runs within a [`TICK`] if the disk is quick, and only processors are missing.
const QUICK_READS: usize = 10;

/// How long a thread above [`MIN_THREADS`] waits for a read before it ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads that wait. One more is refused at once.
const MAX_QUEUE: usize = 4096;

/// How long closing the queue waits for reads that are under way. A connection that is closed later than the writer's
/// leaves the write-ahead log beside the file, which harms nothing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads in the order in which they came. Dropping it ends the threads that run them.
pub(crate) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Reads that wait, each with the moment since when.
    waiting: VecDeque<(Instant, Box<dyn FnOnce() + Send>)>,
    threads: usize,
    idle: usize,
    /// Reads that were taken since threads were last asked for.
    taken: usize,
    is_closed: bool,
}

impl Queue {
    /// Starts the first threads.
    pub(crate) fn start() -> io::Result<Self> {
        let queue = Self(Arc::default());
        for _ in 0..MIN_THREADS {
            queue.add_thread(&mut queue.0.lock())?;
        }
        Ok(queue)
    }

    /// Lets a thread run `read`, unless the receiver of its result is dropped before that.
    pub(crate) fn push<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let (caller, answer) = oneshot::channel();
        let job = move || {
            if !caller.is_closed() {
                // An error says that the caller has gone meanwhile.
                drop(caller.send(read()));
            }
        };
        let mut state = self.0.lock();
        if state.waiting.len() >= MAX_QUEUE {
            let reason = format!("the disk is too slow ({MAX_QUEUE} reads wait)");
            return Err(StoreError::unavailable(reason));
        }
        state.waiting.push_back((Instant::now(), Box::new(job)));
        if state.idle > 0 {
            self.0.changed.notify_one();
        }
        Ok(answer)
    }

    /// Returns how many reads wait.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().waiting.len()
    }

    /// Adds a thread if a read has waited for a [`TICK`] because reads take long. To be called once in each of them.
    pub(crate) fn relieve(&self) {
        let mut state = self.0.lock();
        let is_late = state.waiting.front().is_some_and(|(since, _)| since.elapsed() >= TICK);
        let is_slow = mem::take(&mut state.taken) < QUICK_READS * state.threads;
        if is_late && is_slow && state.threads < MAX_THREADS {
            // If the system has no thread left, those that are there go on.
            drop(self.add_thread(&mut state));
        }
    }

    fn add_thread(&self, state: &mut State) -> io::Result<()> {
        let shared = Arc::clone(&self.0);
        thread::Builder::new().name("sqlite-reader".to_owned()).spawn(move || shared.run())?;
        state.threads += 1;
        Ok(())
    }
}

impl Drop for Queue {
    /// Ends the threads, and waits for them.
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        self.0.changed.notify_all();
        let are_running = |state: &mut State| state.threads > 0;
        drop(self.0.changed.wait_timeout_while(state, CLOSE_TIMEOUT, are_running));
    }
}

impl Shared {
    /// Runs reads until the queue is closed, or this thread is not needed any more.
    fn run(&self) {
        let mut state = self.lock();
        let mut is_needed = true;
        loop {
            if let Some((_, job)) = state.waiting.pop_front() {
                state.taken += 1;
                drop(state);
                // A read that panics is answered as one that has: its caller's channel is dropped.
                drop(panic::catch_unwind(AssertUnwindSafe(job)));
                state = self.lock();
            } else if is_needed && !state.is_closed {
                state.idle += 1;
                let waited = self.changed.wait_timeout(state, IDLE_TIMEOUT);
                let (changed, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                state = changed;
                state.idle -= 1;
                is_needed = !waited.timed_out() || state.threads <= MIN_THREADS;
            } else {
                break;
            }
        }
        state.threads -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        thread,
    };

    use tokio::sync::oneshot;

    use super::{MAX_QUEUE, MAX_THREADS, MIN_THREADS, Queue};
    use crate::watch::TICK;

    /// Pushes reads that run until the sender is dropped. Returns the number that have begun, and their receivers.
    fn block(
        queue: &Queue,
        count: usize,
    ) -> (Arc<AtomicUsize>, mpsc::Sender<()>, Vec<oneshot::Receiver<()>>) {
        let (begun, (release, released)) = (Arc::<AtomicUsize>::default(), mpsc::channel());
        let released = Arc::new(std::sync::Mutex::new(released));
        let answers = (0..count).map(|_| {
            let (begun, released) = (Arc::clone(&begun), Arc::clone(&released));
            let read = move || {
                begun.fetch_add(1, Ordering::SeqCst);
                // An error says that the sender is dropped.
                let _ = released.lock().unwrap().recv();
            };
            queue.push(read).unwrap()
        });
        let answers = answers.collect();
        (begun, release, answers)
    }

    fn until(reached: impl Fn() -> bool) {
        while !reached() {
            thread::sleep(TICK / 10);
        }
    }

    #[test]
    fn reads_that_take_long_get_more_threads_and_quick_ones_do_not() {
        let queue = Queue::start().unwrap();
        let (begun, release, answers) = block(&queue, MAX_THREADS + 4);
        until(|| begun.load(Ordering::SeqCst) == MIN_THREADS);
        for threads in MIN_THREADS..MAX_THREADS {
            assert_eq!(queue.0.lock().threads, threads);
            thread::sleep(TICK);
            queue.relieve();
            until(|| begun.load(Ordering::SeqCst) == threads + 1);
        }
        thread::sleep(TICK);
        queue.relieve();
        assert_eq!(queue.0.lock().threads, MAX_THREADS);
        assert_eq!(queue.len(), 4);
        drop(release);
        answers.into_iter().for_each(|answer| answer.blocking_recv().unwrap());

        let queue = Queue::start().unwrap();
        let (_, release, _answers) = block(&queue, 4);
        thread::sleep(TICK);
        // As if many had been run meanwhile.
        queue.0.lock().taken = 1000;
        queue.relieve();
        assert_eq!(queue.0.lock().threads, MIN_THREADS);
        drop(release);
    }

    #[test]
    fn one_read_too_many_is_refused_and_one_without_a_caller_does_not_run() {
        let queue = Queue::start().unwrap();
        let (begun, release, mut answers) = block(&queue, MIN_THREADS);
        until(|| begun.load(Ordering::SeqCst) == MIN_THREADS);
        answers.extend(block(&queue, MAX_QUEUE).2);
        let refusal = queue.push(|| ()).unwrap_err().to_string();
        assert_eq!(refusal, "the store cannot answer: the disk is too slow (4096 reads wait)");
        drop(answers.split_off(MIN_THREADS));
        drop(release);
        until(|| queue.len() == 0);
        assert_eq!(queue.push(|| 7).unwrap().blocking_recv(), Ok(7));
        assert_eq!(begun.load(Ordering::SeqCst), MIN_THREADS);
    }

    #[test]
    fn a_read_that_panics_leaves_its_thread() {
        let queue = Queue::start().unwrap();
        for _ in 0..MIN_THREADS {
            queue.push(|| panic!("as asked")).unwrap().blocking_recv().unwrap_err();
        }
        assert_eq!(queue.push(|| 7).unwrap().blocking_recv(), Ok(7));
        assert_eq!(queue.0.lock().threads, MIN_THREADS);
    }
}
