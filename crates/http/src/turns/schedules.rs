//! Turns under schedules, of additions some of which are dropped.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use petstore_domain::KeyDigest;
use shuttle::{
    future::{block_on, spawn, yield_now},
    thread,
};

use super::Turns;
use crate::sync::schedules::explore;

const FREE: usize = 2;
const MAX_WAITING: usize = 3;

/// One addition with the store.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(running: &Arc<AtomicUsize>) -> Self {
        assert!(running.fetch_add(1, Ordering::SeqCst) < FREE, "a turn too many");
        Self(Arc::clone(running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn no_turn_is_lost_or_given_twice() {
    explore(3000, || {
        let turns = Turns::with_limits(FREE, MAX_WAITING);
        let running = Arc::<AtomicUsize>::default();
        let additions = [1, 1, 1, 2, 2, 3].map(|key| {
            let (turns, running) = (turns.clone(), Arc::clone(&running));
            spawn(async move {
                let Ok(_turn) = turns.next(KeyDigest([key; 32])).await else { return };
                let _running = Running::new(&running);
                yield_now().await;
            })
        });
        thread::yield_now();
        for (number, addition) in additions.into_iter().enumerate() {
            if number % 3 == 2 {
                addition.abort();
            }
            // A turn that is lost leaves one that waits for ever, which shuttle reports.
            assert!(block_on(addition).is_ok() || number % 3 == 2);
        }
        let queue = turns.lock();
        assert_eq!((queue.free, queue.waiting), (FREE, 0));
    });
}
