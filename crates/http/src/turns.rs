//! Turns of API keys at the store's writer.
//!
//! **What.** At most [`MAX_WRITES`] additions are with the store at a time; the others wait here. When one
//! ends, the keys that wait have their turns in a circle, one addition each. When too many wait, the
//! key of which most wait loses its last.
//!
//! **What it buys.** A key with thousands of additions in flight neither fills the store's queue, so that
//! another key is answered 503, nor makes another key wait for all of them.
//!
//! **What it costs.** A lock for each addition, twice.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError},
};

use petstore_domain::KeyDigest;
use tokio::sync::oneshot;

use crate::{
    error::ApiError,
    sync::{Mutex, MutexGuard},
};

/// Additions that are with the store at a time: two of its groups, so that one waits while the other
/// is committed, and half of its queue.
const MAX_WRITES: usize = 2048;
/// Additions that wait for their turn; beyond it the answer is 503.
const MAX_WAITING: usize = 4096;

/// Hands out turns to API keys.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    /// Turns that can be given away.
    free: usize,
    waiting: usize,
    max_waiting: usize,
    /// Those that wait, by their key; the key at the front is next. None of them is empty.
    keys: VecDeque<(KeyDigest, VecDeque<Waiter>)>,
}

type Waiter = oneshot::Sender<Turn>;

/// One addition may be made, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Turns>);

impl Turns {
    /// As many turns and places to wait as one store can do with.
    pub(crate) fn new() -> Self {
        Self::with_limits(MAX_WRITES, MAX_WAITING)
    }

    fn with_limits(free: usize, max_waiting: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue { free, waiting: 0, max_waiting, keys: VecDeque::new() })))
    }

    /// Waits for the next turn of `key`.
    ///
    /// # Errors
    /// 503 if too many wait, and none more than those of this key.
    pub(crate) async fn next(&self, key: KeyDigest) -> Result<Turn, ApiError> {
        let turn = {
            let mut queue = self.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Ok(Turn(Some(self.clone())));
            }
            queue.wait(key)
        };
        turn.await.map_err(|_| ApiError::unavailable("too many additions of this API key wait"))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// A place behind the others of `key`; closed if there is none.
    fn wait(&mut self, key: KeyDigest) -> oneshot::Receiver<Turn> {
        let (waiter, turn) = oneshot::channel();
        if self.waiting < self.max_waiting || self.evict_for(key) {
            self.waiting += 1;
            match self.keys.iter_mut().find(|(other, _)| *other == key) {
                Some((_, waiters)) => waiters.push_back(waiter),
                None => self.keys.push_back((key, VecDeque::from([waiter]))),
            }
        }
        turn
    }

    /// Takes the last place of the key that has most, unless that is `key`.
    fn evict_for(&mut self, key: KeyDigest) -> bool {
        let most = self.keys.iter_mut().max_by_key(|(_, waiters)| waiters.len());
        let Some((_, waiters)) = most.filter(|(other, _)| *other != key) else { return false };
        waiters.pop_back();
        self.waiting -= 1;
        self.keys.retain(|(_, waiters)| !waiters.is_empty());
        true
    }

    /// The next that waits; if none does, the turn is free again.
    fn end_turn(&mut self) -> Option<Waiter> {
        let Some((key, mut waiters)) = self.keys.pop_front() else {
            self.free += 1;
            return None;
        };
        let next = waiters.pop_front();
        if !waiters.is_empty() {
            self.keys.push_back((key, waiters));
        }
        self.waiting -= 1;
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let next = turns.lock().end_turn();
            let Some(waiter) = next else { return };
            match waiter.send(Self(Some(turns.clone()))) {
                Ok(()) => return,
                // It does not wait any more, so the next one has the turn.
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
    }
}

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
#[cfg(test)]
#[cfg(not(feature = "schedules"))]
mod tests;
