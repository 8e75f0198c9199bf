//! Bounds on how long things may take.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// One of the runtime's timers, for the bounds of one task: those of all heads, bodies and requests of
/// an HTTP/1 connection, or those of one request of HTTP/2.
///
/// To set a timer and to put it away again takes a lock that all threads share, and hardly any bound
/// is ever reached. So the timer stays where it is unless an earlier moment is asked for; when it
/// rings too early for whoever still waits, they ask again and it is set anew.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Mutex<Option<Pin<Box<Sleep>>>>);

impl Alarm {
    /// Ready from `at` on. Until then the task is woken at `at` or sooner, and is to ask again
    /// whenever it is woken.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let mut timer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() > at {
            timer.as_mut().reset(at);
        }
        ready!(timer.as_mut().poll(cx));
        if timer.deadline() < at {
            timer.as_mut().reset(at);
            ready!(timer.as_mut().poll(cx));
        }
        Poll::Ready(())
    }

    /// What `work` comes to, unless it takes longer than `time`. It is borrowed, because a future
    /// that is moved is copied.
    pub(crate) fn within<F: Future>(
        &self,
        time: Duration,
        mut work: Pin<&mut F>,
    ) -> impl Future<Output = Option<F::Output>> {
        let mut end = None;
        poll_fn(move |cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            let end = *end.get_or_insert_with(|| Instant::now() + time);
            self.poll(cx, end).map(|()| None)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, poll_fn},
        pin::pin,
        time::Duration,
    };

    use tokio::time::{Instant, pause, sleep};

    use super::Alarm;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn work_has_its_time_and_no_more() {
        pause();
        let alarm = Alarm::default();
        for time in [10, 30, 1, 10].map(Duration::from_secs) {
            assert_eq!(alarm.within(Duration::ZERO, pin!(async { 7 })).await, Some(7));
            let in_time = time.checked_sub(Duration::from_millis(1)).unwrap();
            assert_eq!(alarm.within(time, pin!(sleep(in_time))).await, Some(()));
            let began = Instant::now();
            assert_eq!(alarm.within(time, pin!(pending::<()>())).await, None);
            let took = began.elapsed();
            assert!(time <= took && took < time + Duration::from_millis(5), "{time:?}: {took:?}");
        }
    }

    #[tokio::test]
    async fn work_within_work_has_its_own_time() {
        pause();
        let alarm = Alarm::default();
        for (inner, outer, expected) in [(2, 5, Some(None)), (5, 2, None), (2, 5, Some(None))] {
            let began = Instant::now();
            let inside = async { alarm.within(inner * SECOND, pin!(pending::<()>())).await };
            assert_eq!(alarm.within(outer * SECOND, pin!(inside)).await, expected);
            assert_eq!(began.elapsed().as_secs(), 2);
        }
    }

    #[tokio::test]
    async fn an_earlier_moment_does_not_take_the_later_one_away() {
        pause();
        let alarm = Alarm::default();
        let (began, late) = (Instant::now(), Instant::now() + 9 * SECOND);
        let outer = pin!(async {
            alarm.within(SECOND, pin!(pending::<()>())).await;
            pending::<()>().await;
        });
        assert_eq!(alarm.within(5 * SECOND, outer).await, None);
        assert_eq!(began.elapsed().as_secs(), 5);
        poll_fn(|cx| alarm.poll(cx, late)).await;
        assert_eq!(began.elapsed().as_secs(), 9);
    }
}
