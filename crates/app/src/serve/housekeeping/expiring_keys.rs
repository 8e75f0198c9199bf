//! The API keys that expire soon, for the log: at the start, and once a day.

use std::time::Duration;

use petstore_domain::{KeyAdmin, StoredKeys, expiring_soon};
use tokio::time;

use crate::clock::{days_until, rfc3339};

/// How long after one round the next begins.
const EVERY: Duration = Duration::from_hours(24);
/// Keys that one round names; the rest are counted.
const MAX_NAMED: usize = 10;

/// Never ends.
pub(super) async fn warn_again_and_again(admin: &KeyAdmin) {
    loop {
        match admin.list().await {
            Ok((StoredKeys { keys, .. }, now)) => {
                let soon: Vec<_> = expiring_soon(&keys, now).collect();
                for key in soon.iter().take(MAX_NAMED) {
                    let expires_at = key.expires_at.map(rfc3339);
                    let days_left = key.expires_at.map(|end| days_until(end, now));
                    let (id, name) = (key.id.0, key.name.as_str());
                    tracing::warn!(
                        id,
                        name,
                        expires_at,
                        days_left,
                        "an API key expires soon: replace it with 'petstore keys roll'"
                    );
                }
                if soon.len() > MAX_NAMED {
                    let more = soon.len() - MAX_NAMED;
                    tracing::warn!(more, "more API keys expire soon: see 'petstore keys list'");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the API keys that expire soon could not be looked up");
            }
        }
        time::sleep(EVERY).await;
    }
}
