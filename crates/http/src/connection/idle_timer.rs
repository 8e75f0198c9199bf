//! The timer of one HTTP/1 connection.
//!
//! hyper wants a new timer for every head, and all but the last of them are dropped before they
//! fire. Here they share one of the runtime's timers, which is not moved when a deadline is: it
//! fires at the earliest deadline it was ever set to, and only then looks for the one that counts.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use tokio::time;

type Shared = Arc<Mutex<Option<Pin<Box<time::Sleep>>>>>;

/// Hands out [`Deadline`]s of which one at a time is waited for.
#[derive(Clone, Default)]
pub(super) struct IdleTimer(Shared);

struct Deadline {
    at: time::Instant,
    timer: Shared,
}

impl Timer for IdleTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline { at: deadline.into(), timer: Arc::clone(&self.0) })
    }

    fn now(&self) -> Instant {
        time::Instant::now().into()
    }
}

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = timer.get_or_insert_with(|| Box::pin(time::sleep_until(self.at)));
        if sleep.deadline() < self.at {
            ready!(sleep.as_mut().poll(cx)); // Too early: it was set for another deadline.
        }
        if sleep.deadline() != self.at {
            sleep.as_mut().reset(self.at);
        }
        sleep.as_mut().poll(cx)
    }
}

impl fmt::Debug for IdleTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleTimer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll, time::Duration};

    use hyper::rt::Timer;
    use tokio::time::{Instant, advance, pause};

    use super::IdleTimer;

    const TIME: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_deadline_counts_from_when_it_was_set_whatever_was_set_before() {
        pause();
        let timer = IdleTimer::default();
        let began = Instant::now();
        timer.sleep(TIME).await;
        assert_eq!(began.elapsed().as_secs(), 10);

        for _ in 0..3 {
            let mut dropped = timer.sleep(TIME);
            let waits = poll_fn(|cx| Poll::Ready(dropped.as_mut().poll(cx).is_pending())).await;
            assert!(waits);
            advance(Duration::from_secs(7)).await;
        }
        let began = Instant::now();
        timer.sleep(TIME).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }

    #[tokio::test]
    async fn an_earlier_deadline_is_not_missed() {
        pause();
        let timer = IdleTimer::default();
        let mut late = timer.sleep(TIME);
        let _ = poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx).is_pending())).await;
        let began = Instant::now();
        timer.sleep(TIME / 2).await;
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
