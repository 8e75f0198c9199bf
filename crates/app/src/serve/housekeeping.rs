//! The periodic tasks of the service. A task that fails is logged and tried again in the next round.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use petstore_domain::{
    Catalogue, Clock as _, Corruption, KeyId, KeyRing, KeyStore, RevokedUse, StoreError, load_keys,
};
use petstore_http::RevokedKeyCounter;
use tokio::time::{self, Instant, MissedTickBehavior};

use crate::system::clock::{SystemClock, days_until, rfc3339};

/// How often uses of keys are written back, each key's own at most once a minute, and keys that are corrupt
/// or revoked and still presented are logged.
const KEYS_EVERY: Duration = Duration::from_secs(5);
/// How often a revoked key is logged, however often it is presented.
const REVOKED_EVERY: Duration = Duration::from_mins(1);
/// How long after one look for keys that expire soon the next begins.
const EXPIRING_EVERY: Duration = Duration::from_hours(24);
/// How long after one purge of the expired idempotency records the next begins.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// The shortest rest after a batch, so that a store that answers at once is not called in a busy loop.
const MIN_REST: Duration = Duration::from_millis(1);
/// How long the end of the service waits for the store.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// Does what is to be done. Never ends; dropped during a purge, it leaves what the batch that has begun does. The first
/// rounds come one interval from now, but keys that expire soon are logged at once. Uses of revoked keys are counted by
/// `count`.
pub(super) async fn run(
    keys: Arc<KeyRing>,
    stored: Arc<dyn KeyStore>,
    catalogue: Arc<Catalogue>,
    count: RevokedKeyCounter,
) {
    tokio::select! {
        () = look_after(&keys, &count) => {}
        () = purge_expired(&catalogue) => {}
        () = warn_of_expiring(&*stored) => {}
    }
}

/// Writes the last uses back, once nothing is answered any more.
pub(super) async fn finish(keys: &KeyRing) {
    if time::timeout(LAST_ROUND, write_back(keys)).await.is_err() {
        tracing::warn!("the store took too long; the last uses of API keys may not be noted");
    }
}

/// Writes uses of keys back, and logs the keys that an operator should know of. Never ends.
async fn look_after(keys: &KeyRing, count: &RevokedKeyCounter) {
    let (mut corrupt, mut revoked) = (HashSet::new(), BTreeMap::new());
    let mut tick = time::interval_at(Instant::now() + KEYS_EVERY, KEYS_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        for corruption in take_new(&mut corrupt, keys.corruptions()) {
            tracing::error!(%corruption, "an API key cannot be read, so it is refused");
        }
        for RevokedUse { id, name, uses } in keys.take_revoked_uses() {
            count(&name, uses);
            if is_due(&mut revoked, id) {
                let (id, name) = (id.0, name.as_str());
                tracing::warn!(id, name, uses, "a revoked API key is still presented, and refused");
            }
        }
        write_back(keys).await;
    }
}

/// Returns those of `current` that were not there in the round before.
fn take_new(known: &mut HashSet<Corruption>, current: Vec<Corruption>) -> Vec<Corruption> {
    let new = current.iter().filter(|key| !known.contains(key)).cloned().collect();
    *known = current.into_iter().collect();
    new
}

/// Returns whether a revoked key was not logged lately. It is logged now.
fn is_due(logged: &mut BTreeMap<KeyId, Instant>, id: KeyId) -> bool {
    let now = Instant::now();
    logged.retain(|_, at| now.duration_since(*at) < REVOKED_EVERY);
    *logged.entry(id).or_insert(now) == now
}

async fn write_back(keys: &KeyRing) {
    if let Err(error) = keys.write_back_uses().await {
        tracing::warn!(%error, "the last uses of API keys could not be noted");
    }
}

/// Warns of the API keys that expire soon: at the start, and once a day. Never ends.
async fn warn_of_expiring(keys: &dyn KeyStore) {
    loop {
        let now = SystemClock.now();
        match load_keys(keys).await {
            Ok(stored) => {
                for key in stored.expiring_soon(now) {
                    let expires_at = key.expires_at.map(rfc3339);
                    let days_left = key.expires_at.map(|end| days_until(end, now));
                    let left = key.expires_at.and_then(|end| end.since(now));
                    let hours_left = left.map(|left| left.as_secs() / 3600);
                    let (id, name) = (key.id.0, key.name.as_str());
                    tracing::warn!(
                        id,
                        name,
                        expires_at,
                        days_left,
                        hours_left,
                        "an API key expires soon: replace it with 'petstore keys roll'"
                    );
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the API keys that expire soon could not be looked up");
                // The store may still be being prepared.
                time::sleep(PURGE_EVERY).await;
                continue;
            }
        }
        time::sleep(EXPIRING_EVERY).await;
    }
}

/// Purges the idempotency records that have expired. Never ends.
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
