//! The periodic tasks of the service. A failed task is logged and runs again in the next round.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashSet},
    mem,
    sync::Arc,
    time::Duration,
};

use petstore_domain::{
    Catalogue, Clock as _, Corruption, KeyId, KeyRing, KeyStore, RevokedUse, load_keys,
};
use petstore_http::RevokedKeyCounter;
use tokio::time::{self, Instant};

use crate::system::{SystemClock, rfc3339};

/// The interval at which key uses are written back, and corrupt keys and uses of revoked keys are logged. The key ring
/// writes back each live key at most once a minute.
const KEYS_EVERY: Duration = Duration::from_secs(5);
/// The shortest time between two log lines about the same revoked key.
const REVOKED_EVERY: Duration = Duration::from_mins(1);
/// The time between two searches for keys that expire soon.
const EXPIRING_EVERY: Duration = Duration::from_hours(24);
/// The time between two purges of expired idempotency records.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// The shortest pause after a purge batch, so that a fast store is not called in a busy loop.
const MIN_REST: Duration = Duration::from_millis(1);
/// The time limit for the last write of key uses when the service stops.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// Runs the periodic tasks. Never ends. Cancel safe: a purge batch that has started completes in the store. Each task
/// starts one interval from now; the search for keys that expire soon starts at once. `count` counts uses of revoked keys.
pub(super) async fn run(
    keys: Arc<KeyRing>,
    stored: Arc<dyn KeyStore>,
    catalogue: Arc<Catalogue>,
    count: RevokedKeyCounter,
) {
    tokio::join!(watch_keys(&keys, &count), purge_expired(&catalogue), warn_of_expiring(&*stored));
}

/// Writes the last key uses back after the drain.
pub(super) async fn finish(keys: &KeyRing) {
    if time::timeout(LAST_ROUND, write_back(keys)).await.is_err() {
        tracing::warn!("the store took too long; the last uses of API keys may not be stored");
    }
}

/// Writes key uses back, and logs corrupt keys and uses of revoked keys. Never ends.
async fn watch_keys(keys: &KeyRing, count: &RevokedKeyCounter) {
    let (mut corrupt, mut revoked) = (HashSet::new(), BTreeMap::new());
    loop {
        time::sleep(KEYS_EVERY).await;
        for corruption in take_new(&mut corrupt, keys.corruptions()) {
            tracing::error!(%corruption, "an API key is corrupt, so it is refused");
        }
        for RevokedUse { id, name, uses } in keys.take_revoked_uses() {
            count(&name, uses);
            if let Some(uses) = add_uses(&mut revoked, id, uses) {
                let (id, name) = (id.0, name.as_str());
                tracing::warn!(id, name, uses, "a revoked API key is still presented, and refused");
            }
        }
        write_back(keys).await;
    }
}

/// Returns the corruptions in `current` that the previous round did not have.
fn take_new(known: &mut HashSet<Corruption>, current: Vec<Corruption>) -> Vec<Corruption> {
    let new = current.iter().filter(|key| !known.contains(key)).cloned().collect();
    *known = current.into_iter().collect();
    new
}

/// Adds uses of a revoked key. Returns the uses since the last log line if a line is due: [`REVOKED_EVERY`] after the
/// last one. `unlogged` has an entry for each revoked key that was used: the time of the next line about it, and the uses
/// that no line has shown.
fn add_uses(unlogged: &mut BTreeMap<KeyId, (Instant, u64)>, id: KeyId, uses: u64) -> Option<u64> {
    let now = Instant::now();
    let (due, count) = unlogged.entry(id).or_insert((now, 0));
    *count += uses;
    (*due <= now).then(|| {
        *due = now + REVOKED_EVERY;
        mem::take(count)
    })
}

async fn write_back(keys: &KeyRing) {
    if let Err(error) = keys.write_back_uses().await {
        tracing::warn!(%error, "cannot store the last uses of API keys");
    }
}

/// Logs the API keys that expire soon, at the start and once a day. Never ends.
async fn warn_of_expiring(keys: &dyn KeyStore) {
    loop {
        let pause = match load_keys(keys).await {
            Ok(stored) => {
                for key in stored.expiring_soon(SystemClock.now()) {
                    tracing::warn!(
                        id = key.id.0,
                        name = key.name.as_str(),
                        expires_at = key.expires_at.map(rfc3339),
                        "an API key expires soon: replace it with 'petstore keys roll'"
                    );
                }
                EXPIRING_EVERY
            }
            Err(error) => {
                tracing::warn!(%error, "cannot look up the API keys that expire soon");
                // The store may not be open yet, so the next attempt is soon.
                PURGE_EVERY
            }
        };
        time::sleep(pause).await;
    }
}

/// Purges expired idempotency records once a minute, in batches until none is left. Each batch is one small transaction.
/// Never ends.
///
/// Pauses after each batch for as long as the batch took, so that a purge takes at most half of the writer's time. The
/// share is smaller while other writes run, because the pause includes the time that the batch waited for them.
async fn purge_expired(catalogue: &Catalogue) {
    let mut pause = PURGE_EVERY;
    loop {
        time::sleep(pause).await;
        let began = Instant::now();
        pause = match catalogue.purge_expired_records().await {
            Ok(true) => began.elapsed().max(MIN_REST),
            Ok(false) => PURGE_EVERY,
            Err(error) => {
                tracing::warn!(%error, "cannot purge expired idempotency records");
                PURGE_EVERY
            }
        };
    }
}
