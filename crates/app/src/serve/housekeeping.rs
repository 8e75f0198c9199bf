//! What the service does beside answering.

mod keys;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use petstore_domain::{Catalogue, KeyAdmin, KeyRing, StoreError};
use petstore_http::RevokedKeyCounter;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{self, Instant, MissedTickBehavior},
};

use self::keys::{CorruptKeys, RevokedKeys, warn_of_expiring};

/// How often uses of keys are written back, each key's own at most once a minute, and keys that are corrupt
/// or revoked and still presented are logged.
const KEYS_EVERY: Duration = Duration::from_secs(5);
/// How long after one purge of the expired idempotency records the next begins.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// The shortest rest after a batch, so that a store that answers at once is not called in a busy loop.
const MIN_REST: Duration = Duration::from_millis(1);
/// How long stopping waits for the store.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// The task that does it. What fails is logged and tried again in the next round.
#[derive(Debug)]
pub(super) struct Housekeeping {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Housekeeping {
    /// Begins; the first rounds come one interval from now.
    /// Keys that expire soon are logged at once.
    /// Uses of revoked keys are counted by `count`.
    pub(super) fn start(
        keys: Arc<KeyRing>,
        admin: KeyAdmin,
        catalogue: Arc<Catalogue>,
        count: RevokedKeyCounter,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut corrupt = CorruptKeys::default();
            let mut revoked = RevokedKeys::new(count);
            tokio::select! {
                _ = stopped => {}
                () = look_after(&keys, &mut corrupt, &mut revoked) => {}
                () = purge_expired(&catalogue) => {}
                () = warn_of_expiring(&admin) => {}
            }
            corrupt.log_new(keys.corruptions());
            write_back(&keys).await;
        });
        Self { stop, task }
    }

    /// Resolves if the task has ended by itself: it has panicked.
    pub(super) async fn ended(&mut self) {
        // By a panic, or aborted with the runtime.
        let _ = (&mut self.task).await;
    }

    /// Ends after a last write-back. A purge stops after the batch that it has begun.
    pub(super) async fn stop(self) {
        let Self { stop, mut task } = self;
        let _ = stop.send(());
        if task.is_finished() {
            return;
        }
        if time::timeout(LAST_ROUND, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the store took too long; the last uses of API keys may not be noted");
        }
    }
}

/// Never ends.
async fn look_after(keys: &KeyRing, corrupt: &mut CorruptKeys, revoked: &mut RevokedKeys) {
    let mut tick = time::interval_at(Instant::now() + KEYS_EVERY, KEYS_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        corrupt.log_new(keys.corruptions());
        revoked.note(&keys.take_revoked_uses());
        write_back(keys).await;
    }
}

async fn write_back(keys: &KeyRing) {
    if let Err(error) = keys.write_back_uses().await {
        tracing::warn!(%error, "the last uses of API keys could not be noted");
    }
}

/// Never ends.
async fn purge_expired(catalogue: &Catalogue) {
    loop {
        time::sleep(PURGE_EVERY).await;
        let purged = in_batches(|| catalogue.purge_expired_records());
        if let Err(error) = purged.await {
            tracing::warn!(%error, "expired idempotency records could not be purged");
        }
    }
}

/// Runs `batch` until it answers that nothing is left.
///
/// A batch is one small transaction. After each, the purge rests for as long as the batch took: so it
/// takes at most half of the writer's time, however much has expired, and less while others write,
/// because the time that a batch waits for them counts too.
async fn in_batches<F>(mut batch: impl FnMut() -> F) -> Result<(), StoreError>
where
    F: Future<Output = Result<bool, StoreError>>,
{
    loop {
        let began = Instant::now();
        if !batch().await? {
            return Ok(());
        }
        time::sleep(began.elapsed().max(MIN_REST)).await;
    }
}
