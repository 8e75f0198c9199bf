//! The revoked API keys that clients still present, for the log and the metrics.

use std::{collections::BTreeMap, fmt, time::Duration};

use petstore_domain::{KeyId, KeyRing, RevokedUse};
use petstore_http::RevokedKeyCounter;
use tokio::time::Instant;

/// How often a key is logged, however often it is presented.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// The keys that were logged within [`LOG_EVERY`].
pub(super) struct RevokedKeys {
    logged: BTreeMap<KeyId, Instant>,
    count: RevokedKeyCounter,
}

impl RevokedKeys {
    /// None was logged yet; all are counted by `count`.
    pub(super) fn new(count: RevokedKeyCounter) -> Self {
        Self { logged: BTreeMap::new(), count }
    }

    /// Counts and logs those that were presented since the last call.
    pub(super) async fn note_uses(&mut self, keys: &KeyRing) {
        match keys.take_revoked_uses().await {
            Ok(used) => self.note(&used),
            Err(error) => tracing::warn!(%error, "the revoked API keys could not be looked up"),
        }
    }

    fn note(&mut self, used: &[RevokedUse]) {
        for RevokedUse { name, uses, .. } in used {
            (self.count)(name, *uses);
        }
        for RevokedUse { id, name, uses } in self.take_due(used) {
            let (id, name) = (id.0, name.as_str());
            tracing::warn!(id, name, uses, "a revoked API key is still presented, and refused");
        }
    }

    /// Those of `used` that were not logged lately.
    fn take_due<'u>(&mut self, used: &'u [RevokedUse]) -> Vec<&'u RevokedUse> {
        let now = Instant::now();
        self.logged.retain(|_, at| now.duration_since(*at) < LOG_EVERY);
        let due: Vec<_> = used.iter().filter(|key| !self.logged.contains_key(&key.id)).collect();
        self.logged.extend(due.iter().map(|key| (key.id, now)));
        due
    }
}

impl fmt::Debug for RevokedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevokedKeys").field("logged", &self.logged).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use petstore_domain::{KeyId, KeyName, RevokedUse};
    use tokio::time::advance;

    use super::RevokedKeys;

    #[tokio::test(start_paused = true)]
    async fn a_key_is_logged_once_a_minute() {
        let used = |id| RevokedUse { id: KeyId(id), name: KeyName::parse("web").unwrap(), uses: 1 };
        let mut keys = RevokedKeys::new(Arc::new(|_, _| ()));
        for (seconds, presented, logged) in [
            (0, vec![1], vec![1]),
            (5, vec![1, 2], vec![2]),
            (54, vec![1], vec![]),
            (2, vec![1, 2], vec![1]),
        ] {
            advance(Duration::from_secs(seconds)).await;
            let presented: Vec<_> = presented.into_iter().map(used).collect();
            let due: Vec<_> = keys.take_due(&presented).iter().map(|key| key.id.0).collect();
            assert_eq!(due, logged, "{seconds}");
        }
    }
}
