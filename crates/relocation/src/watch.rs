//! What makes a running service notice a move.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{task::JoinHandle, time};

use crate::store::RelocatingStore;

/// How often a service looks whether a move has begun.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often it looks which store decides while a move is on.
const INTERVAL_IN_A_MOVE: Duration = Duration::from_millis(50);

/// A task that looks again and again. Dropping it ends it.
#[derive(Debug)]
pub struct Watch(JoinHandle<()>);

impl Watch {
    /// Begins.
    #[must_use]
    pub fn start(store: &Arc<RelocatingStore>) -> Self {
        let store = Arc::clone(store);
        Self(tokio::spawn(async move {
            let mut slow = Instant::now();
            loop {
                time::sleep(if store.current.is_alone() { INTERVAL } else { INTERVAL_IN_A_MOVE })
                    .await;
                store.try_refresh().await;
                if !store.current.is_alone() && slow.elapsed() >= INTERVAL {
                    slow = Instant::now();
                    store.note_horizon().await;
                    write_differences(&store).await;
                }
            }
        }))
    }
}

async fn write_differences(store: &RelocatingStore) {
    let differences = store.shadow.take();
    if differences.count > 0
        && store.own.relocation.note_differences(differences.clone()).await.is_err()
    {
        store.shadow.put_back(differences);
    }
}

impl Watch {
    /// Ends it, and waits until it has let go of the stores.
    pub async fn stop(mut self) {
        self.0.abort();
        // It ends by having been aborted.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}
