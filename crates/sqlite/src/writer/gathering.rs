//! Larger groups, where a commit takes less time than clients need to come back.
//!
//! A commit costs the processors much the same for one write as for fifty. On a quick disk, the first
//! client that comes back with another write would have a commit to itself, and so on: many small
//! ones, for which the threads that serve connections are interrupted again and again. So after its
//! answers the writer waits a moment for most of those that were writing. A write that comes alone
//! never waits.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

/// How long after the last answers the writer waits at most.
///
/// If a commit takes longer, the disk is what clients wait for: they come back while it works, and
/// it should not be kept waiting.
pub(super) const PATIENCE: Duration = Duration::from_micros(500);

/// What the last group tells of the next one.
#[derive(Debug)]
pub(super) struct Gathering {
    bell: Arc<Bell>,
    patience: Duration,
    /// So many writes are worth waiting for.
    expected: usize,
    until: Instant,
}

/// How the waiting writer is told that enough writes are there.
#[derive(Debug)]
pub(super) struct Bell {
    /// In the queue; `usize::MAX` while the writer does not wait.
    wanted: AtomicUsize,
    writer: OnceLock<Thread>,
}

impl Gathering {
    pub(super) fn new(patience: Duration) -> Self {
        let bell = Bell { wanted: AtomicUsize::new(usize::MAX), writer: OnceLock::new() };
        Self { bell: Arc::new(bell), patience, expected: 0, until: Instant::now() }
    }

    /// For those who queue writes.
    pub(super) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Waits for more than `group` if that is worthwhile, and adds what has come meanwhile, until
    /// the group has `most`.
    pub(super) fn gather<T>(&self, group: &mut Vec<T>, queue: &mut mpsc::Receiver<T>, most: usize) {
        let missing = self.expected.min(most).saturating_sub(group.len());
        while queue.len() < missing {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.bell.await_ring(missing, queue, left);
        }
        while group.len() < most
            && let Ok(write) = queue.try_recv()
        {
            group.push(write);
        }
    }

    /// A group of so many has been committed since `began`, and so many `wait` for the next one.
    pub(super) fn note(&mut self, group: usize, wait: usize, began: Instant) {
        let now = Instant::now();
        // Not all, or one that stays away would keep the others waiting.
        let most = (group + wait) * 3 / 4;
        self.expected = if now - began < self.patience { most } else { 0 };
        self.until = now + self.patience;
    }
}

impl Bell {
    /// To be called after a write was queued, as the last of so many that wait.
    pub(super) fn ring(&self, waiting: usize) {
        if waiting >= self.wanted.load(Ordering::SeqCst)
            && let Some(writer) = self.writer.get()
        {
            writer.unpark();
        }
    }

    /// Waits until `queue` has `wanted` writes, but no longer than `time`. May return sooner.
    fn await_ring<T>(&self, wanted: usize, queue: &mpsc::Receiver<T>, time: Duration) {
        self.writer.get_or_init(thread::current);
        self.wanted.store(wanted, Ordering::SeqCst);
        // Whoever came before that has not rung.
        if queue.len() < wanted {
            thread::park_timeout(time);
        }
        self.wanted.store(usize::MAX, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        thread,
        time::{Duration, Instant},
    };

    use tokio::sync::mpsc;

    use super::Gathering;

    const LONG: Duration = Duration::from_mins(1);

    /// The group that is gathered when `before` writes were there, the first of them in the group
    /// already, and another thread queues `later` ones.
    fn gathered(gathering: &Gathering, before: usize, later: usize, most: usize) -> Vec<usize> {
        let (sender, mut queue) = mpsc::channel(100);
        for write in 1..before {
            sender.try_send(write).unwrap();
        }
        let bell = Arc::clone(gathering.bell());
        // Not one of a scope: when the last of those ends, it wakes up whoever has begun the scope.
        let other = thread::spawn(move || {
            for write in before..before + later {
                thread::sleep(Duration::from_millis(5));
                sender.try_send(write).unwrap();
                bell.ring(sender.max_capacity() - sender.capacity());
            }
        });
        let mut group = vec![0];
        gathering.gather(&mut group, &mut queue, most);
        other.join().unwrap();
        group
    }

    fn after(patience: Duration, group: usize, wait: usize) -> Gathering {
        let mut gathering = Gathering::new(patience);
        gathering.note(group, wait, Instant::now());
        gathering
    }

    #[test]
    fn most_of_those_who_were_writing_are_waited_for_and_no_longer() {
        let began = Instant::now();
        let group = gathered(&after(LONG, 6, 2), 1, 5, 100);
        assert_eq!(group, [0, 1, 2, 3, 4, 5]);
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn what_has_come_is_taken_but_not_more_than_a_group() {
        assert_eq!(gathered(&after(LONG, 1, 0), 5, 0, 100), [0, 1, 2, 3, 4]);
        assert_eq!(gathered(&after(LONG, 8, 0), 5, 0, 3), [0, 1, 2]);
    }

    #[test]
    fn a_write_that_comes_alone_or_late_does_not_wait() {
        let began = Instant::now();
        assert_eq!(gathered(&after(LONG, 1, 0), 1, 0, 100), [0]);
        assert_eq!(gathered(&after(LONG, 0, 2), 1, 0, 100), [0]);
        assert_eq!(gathered(&after(Duration::ZERO, 8, 8), 1, 0, 100), [0]);
        let mut gathering = after(LONG, 8, 0);
        gathering.until = Instant::now();
        assert_eq!(gathered(&gathering, 1, 0, 100), [0]);
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn nobody_is_waited_for_where_the_disk_is_slow() {
        let mut gathering = Gathering::new(LONG);
        let began = Instant::now();
        gathering.note(8, 8, began.checked_sub(LONG).unwrap());
        assert_eq!(gathered(&gathering, 1, 0, 100), [0]);
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn those_who_stay_away_are_given_up() {
        let began = Instant::now();
        let patience = Duration::from_millis(50);
        assert_eq!(gathered(&after(patience, 8, 0), 2, 0, 100), [0, 1]);
        assert!(began.elapsed() >= patience);
    }
}
