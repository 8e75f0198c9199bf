//! hyper's timer for the heads of an HTTP/1 connection.

use std::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;

/// The runtime's timer, but for the first moment that hyper asks for: that is when the connection was
/// accepted. hyper counts the time for a head from that moment, so the first head has one deadline,
/// whatever time has gone into finding out that it is HTTP/1.
#[derive(Debug)]
pub(super) struct HeadTimer {
    accepted: Instant,
    asked: AtomicBool,
    timer: TokioTimer,
}

impl HeadTimer {
    /// A timer for a connection accepted then.
    pub(super) fn new(accepted: tokio::time::Instant) -> Self {
        let accepted = accepted.into_std();
        Self { accepted, asked: AtomicBool::new(false), timer: TokioTimer::new() }
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.timer.sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.timer.sleep_until(deadline)
    }

    fn now(&self) -> Instant {
        if self.asked.swap(true, Ordering::Relaxed) { self.timer.now() } else { self.accepted }
    }
}
