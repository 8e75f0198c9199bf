//! How connections learn that the server drains.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

/// After the drain begins, an idle connection is kept this long: a request that is already on its
/// way is answered, and whoever asks on it learns that the service is no longer ready.
const LAST_CALL: Duration = Duration::from_millis(500);

/// Begins the drain of every connection.
#[derive(Debug)]
pub(crate) struct DrainSignal(watch::Sender<bool>);

/// A connection's view of the drain.
#[derive(Clone, Debug)]
pub(crate) struct Drain(watch::Receiver<bool>);

impl DrainSignal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn subscribe(&self) -> Drain {
        Drain(self.0.subscribe())
    }

    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Drain {
    /// Resolves when idle connections close: [`LAST_CALL`] after the drain began.
    pub(crate) async fn last_call(&self) {
        let mut begun = self.0.clone();
        // A signal that is gone will never be given, and the server is gone with it.
        let _ = begun.wait_for(|begun| *begun).await;
        sleep(LAST_CALL).await;
    }
}
