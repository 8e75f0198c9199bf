//! How connections learn that the server drains.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

/// After the drain begins, an idle connection is kept this long: a request that is already on its
/// way is answered, and a load balancer that asks on it sees that the service is not ready.
const LAST_CALL: Duration = Duration::from_millis(500);

/// Begins the drain of every connection.
#[derive(Debug)]
pub(crate) struct DrainSignal(watch::Sender<bool>);

/// A connection's view of the drain.
#[derive(Clone, Debug)]
pub(crate) struct Drain(watch::Receiver<bool>);

impl DrainSignal {
    /// The drain has not begun.
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// The view of one more connection.
    pub(crate) fn subscribe(&self) -> Drain {
        Drain(self.0.subscribe())
    }

    /// Begins it.
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Drain {
    /// Resolves when idle connections close: [`LAST_CALL`] after the drain began.
    pub(crate) async fn last_call(&self) {
        // A sender that is gone will never begin, and the server is gone with it.
        let _ = self.0.clone().wait_for(|begun| *begun).await;
        sleep(LAST_CALL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use tokio::time::{Instant, pause, sleep};

    use super::{DrainSignal, LAST_CALL};

    #[tokio::test]
    async fn the_last_call_comes_a_while_after_the_signal_however_often_it_was_asked_for() {
        pause();
        let signal = DrainSignal::new();
        let (busy, late) = (signal.subscribe(), signal.subscribe());
        let waiting = tokio::spawn(async move {
            let mut last_call = pin!(busy.last_call());
            for _ in 0..5 {
                tokio::select! {
                    () = &mut last_call => unreachable!("nobody has called"),
                    () = sleep(Duration::from_secs(1)) => (),
                }
            }
            last_call.await;
            Instant::now()
        });
        sleep(Duration::from_secs(7)).await;
        let called = Instant::now();
        signal.begin();
        // Timers count whole milliseconds.
        let in_time = LAST_CALL..LAST_CALL + Duration::from_millis(2);
        assert!(in_time.contains(&(waiting.await.unwrap() - called)));
        let asked = Instant::now();
        late.last_call().await;
        assert!(in_time.contains(&asked.elapsed()));
    }
}
