//! How long an HTTP/1 connection waits for the head of a request, idleness before it included.

use std::{
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::Instant;

use crate::alarm::Alarm;

#[derive(Debug)]
pub(super) struct HeadDeadline {
    time: Duration,
    /// Which head is awaited, and until when.
    awaited: Option<(usize, Instant)>,
    passed: bool,
}

impl HeadDeadline {
    pub(super) fn new(time: Duration) -> Self {
        Self { time, awaited: None, passed: false }
    }

    /// To be polled while nothing arrives of a head, the one that comes after `before` others: its
    /// time begins when that is told for the first time. Ready when the time is over, of which
    /// `alarm` tells.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, alarm: &Alarm, before: usize) -> Poll<()> {
        let at = match self.awaited {
            Some((head, at)) if head == before => at,
            _ => Instant::now() + self.time,
        };
        self.awaited = Some((before, at));
        ready!(alarm.poll(cx, at));
        self.passed = true;
        Poll::Ready(())
    }

    /// Whether the time of a head was over before it had arrived.
    pub(super) fn has_passed(&self) -> bool {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll, time::Duration};

    use tokio::time::{Instant, advance, pause};

    use super::HeadDeadline;
    use crate::alarm::Alarm;

    const TIME: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn each_head_has_its_time_whatever_came_before() {
        pause();
        let (alarm, mut deadline) = (Alarm::default(), HeadDeadline::new(TIME));
        for head in 0..5 {
            let waits =
                poll_fn(|cx| Poll::Ready(deadline.poll(cx, &alarm, head).is_pending())).await;
            assert!(waits);
            advance(Duration::from_secs(7)).await;
        }
        let began = Instant::now();
        poll_fn(|cx| deadline.poll(cx, &alarm, 5)).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        assert!(deadline.has_passed());
    }

    #[tokio::test]
    async fn a_head_that_trickles_in_gains_no_time() {
        pause();
        let (alarm, mut deadline) = (Alarm::default(), HeadDeadline::new(TIME));
        let began = Instant::now();
        for _ in 0..3 {
            let waits = poll_fn(|cx| Poll::Ready(deadline.poll(cx, &alarm, 0).is_pending())).await;
            assert!(waits && !deadline.has_passed());
            advance(Duration::from_secs(3)).await;
        }
        poll_fn(|cx| deadline.poll(cx, &alarm, 0)).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}
