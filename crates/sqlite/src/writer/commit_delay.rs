//! The commit delay: how long the writer waits before its next transaction.
//!
//! **What.** Between two transactions the writer may wait, for one of two reasons. The whole rule is
//! [`History::delay`].
//! 1. *Larger groups.* A commit costs the processors much the same for one write as for fifty. On a
//!    quick disk, the first client that came back with another write would have a commit to itself. So
//!    the writer waits, [`MAX_DELAY`] at most, until most of those who were writing are back.
//! 2. *Other processes.* SQLite's write lock has no queue: a process that waits for it polls. A writer
//!    that begins its next transaction at once would starve all others. So of each [`TURN`] it leaves
//!    the lock free for [`FREE`] at least.
//!
//! **What it buys.** The first: 13 % more additions on 64 connections, 7 % fewer to 4 % more on others, each
//! for 3 to 19 % less processor time; on a disk that takes 0.6 ms, 26 to 34 % more on 4 to 16 connections
//! (`docs/PERFORMANCE.md`). The second: another process's write gets through within a few turns however busy
//! this one is.
//!
//! **What it costs.** A write that comes alone never waits. On a disk that takes 0.6 ms, 64 connections have
//! 13 % fewer additions. A turn of transactions on a slow disk waits [`FREE`] in all, 2 % of the time, in
//! which the next group grows.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::sync::mpsc;

use crate::sync::{
    Instant,
    atomic::{AtomicUsize, Ordering},
    thread::{self, Thread},
};

/// How long after the last answers the writer waits for more writes at most.
const MAX_DELAY: Duration = Duration::from_micros(500);

/// If a commit takes longer, the disk is what clients wait for: they come back while it works, and
/// it should not be kept waiting.
const SLOW_COMMIT: Duration = Duration::from_micros(750);

/// How long the writer may write without leaving the lock free for [`FREE`] in all.
const TURN: Duration = Duration::from_millis(100);

/// Longer than the other processes' interval between two polls (`connection.rs`).
const FREE: Duration = Duration::from_millis(2);

/// Waits before transactions, and keeps what the rule looks at.
#[derive(Debug)]
pub(super) struct CommitDelay {
    history: History,
    max_group: usize,
    notify: Arc<Notify>,
}

/// What was written until now.
#[derive(Clone, Copy, Debug)]
struct History {
    /// The writes of the last transaction and those that were queued when it ended.
    writers: usize,
    /// How long the commit of the last transaction took, and when it ended.
    commit_time: Duration,
    ended: Instant,
    /// When this turn began, and how long the lock was free in it before the last transaction.
    turn_began: Instant,
    free: Duration,
}

/// How long to wait, and how many writes end the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delay {
    until: Instant,
    enough: usize,
}

impl History {
    /// The rule.
    fn delay(&self, now: Instant) -> Delay {
        let missing = FREE.saturating_sub(self.free_until(now));
        if now - self.turn_began >= TURN && !missing.is_zero() {
            return Delay { until: now + missing, enough: usize::MAX };
        }
        if self.commit_time < SLOW_COMMIT {
            // Not for all of them, or one that stays away would keep the others waiting.
            return Delay { until: self.ended + MAX_DELAY, enough: self.writers * 3 / 4 };
        }
        Delay { until: now, enough: 0 }
    }

    /// How long the lock was free in this turn, if the next transaction begins at `now`.
    fn free_until(&self, now: Instant) -> Duration {
        self.free + now.saturating_duration_since(self.ended)
    }

    /// A transaction begins at `now`.
    fn begin(&mut self, now: Instant) {
        self.free = self.free_until(now);
        if now - self.turn_began >= TURN {
            (self.turn_began, self.free) = (now, Duration::ZERO);
        }
    }
}

impl CommitDelay {
    /// For groups of at most `max_group` writes.
    pub(super) fn new(max_group: usize) -> Self {
        let now = Instant::now();
        let history = History {
            writers: 0,
            commit_time: Duration::ZERO,
            ended: now,
            turn_began: now,
            free: Duration::ZERO,
        };
        let notify = Notify { enough: AtomicUsize::new(usize::MAX), writer: OnceLock::new() };
        Self { history, max_group, notify: Arc::new(notify) }
    }

    /// For those who queue writes.
    pub(super) fn notify(&self) -> &Arc<Notify> {
        &self.notify
    }

    /// Waits as the rule says. Then adds what has come meanwhile to `group`, until it is full.
    pub(super) fn wait<T>(&mut self, group: &mut Vec<T>, queue: &mut mpsc::Receiver<T>) {
        let Delay { until, enough } = self.history.delay(Instant::now());
        let missing = enough.saturating_sub(group.len());
        while queue.len() < missing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.notify.wait(missing, queue, left);
        }
        while group.len() < self.max_group
            && let Ok(write) = queue.try_recv()
        {
            group.push(write);
        }
        self.history.begin(Instant::now());
    }

    /// A transaction has ended, the last `commit_time` of it with its commit. It had writes, or they are
    /// queued, of so many `writers`.
    pub(super) fn note_commit(&mut self, writers: usize, commit_time: Duration) {
        self.history.ended = Instant::now();
        self.history.commit_time = commit_time;
        self.history.writers = writers.min(self.max_group);
    }
}

/// Wakes the waiting writer when enough writes are queued, and not for each of them.
#[derive(Debug)]
pub(super) struct Notify {
    /// `usize::MAX` while the writer does not wait.
    enough: AtomicUsize,
    writer: OnceLock<Thread>,
}

impl Notify {
    /// To be called after a write was queued, as the last of `waiting`.
    pub(super) fn queued(&self, waiting: usize) {
        if waiting >= self.enough.load(Ordering::SeqCst)
            && let Some(writer) = self.writer.get()
        {
            writer.unpark();
        }
    }

    /// Waits until `queue` has `enough` writes, but no longer than `time`. May return sooner.
    fn wait<T>(&self, enough: usize, queue: &mpsc::Receiver<T>, time: Duration) {
        self.writer.get_or_init(thread::current);
        self.enough.store(enough, Ordering::SeqCst);
        // What was queued before that has not woken the writer.
        if queue.len() < enough {
            thread::park_timeout(time);
        }
        self.enough.store(usize::MAX, Ordering::SeqCst);
    }
}

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
#[cfg(test)]
#[cfg(not(feature = "schedules"))]
mod tests;
