//! A bound on how long work may take.

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use tokio::time::{Sleep, sleep};

/// What `work` comes to, unless it takes longer than `time`. Work that never waits, as most does,
/// costs no timer; it is borrowed, because a future that is moved is copied.
pub(crate) fn within<F: Future>(
    time: Duration,
    mut work: Pin<&mut F>,
) -> impl Future<Output = Option<F::Output>> {
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(move |context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        let timer = timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer.as_mut().poll(context).map(|()| None)
    })
}

#[cfg(test)]
mod tests {
    use std::{future::pending, pin::pin, time::Duration};

    use tokio::time::{pause, sleep};

    use super::within;

    #[tokio::test]
    async fn work_has_its_time_and_no_more() {
        pause();
        let time = Duration::from_secs(10);
        assert_eq!(within(Duration::ZERO, pin!(async { 7 })).await, Some(7));
        assert_eq!(within(time, pin!(sleep(Duration::from_millis(9_999)))).await, Some(()));
        assert_eq!(within(time, pin!(pending::<()>())).await, None);
    }
}
