//! A bound on how long work may take.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use tokio::time::timeout;

/// What `work` comes to, unless it takes longer than `time`. Work that never waits, as most does,
/// costs no timer.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let at_once = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    match at_once {
        Poll::Ready(done) => Some(done),
        Poll::Pending => timeout(time, work).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::{pause, sleep};

    use super::within;

    #[tokio::test]
    async fn work_has_its_time_and_no_more() {
        pause();
        let time = Duration::from_secs(10);
        assert_eq!(within(Duration::ZERO, async { 7 }).await, Some(7));
        assert_eq!(within(time, sleep(Duration::from_millis(9_999))).await, Some(()));
        assert_eq!(within(time, pending::<()>()).await, None);
    }
}
