//! A store in memory and a clock that the tests move.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use petstore_domain::{ApiKeySecret, Clock, KeyName, Timestamp};
use petstore_memory::MemoryStore;

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

/// A clock that a test moves.
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    pub(crate) fn advance(&self, step: Duration) {
        self.0.store(self.now().plus(step).0, Ordering::Relaxed);
    }

    pub(crate) fn set_back(&self, step: Duration) {
        self.0.store(self.now().minus(step).0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) fn parts() -> (Arc<MemoryStore>, Arc<TestClock>) {
    (Arc::new(MemoryStore::new()), Arc::new(TestClock::new(START)))
}

pub(crate) fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

pub(crate) fn name(text: &str) -> KeyName {
    KeyName::parse(text).unwrap()
}
