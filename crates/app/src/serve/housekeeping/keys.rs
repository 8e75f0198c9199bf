//! The API keys that an operator should know of, for the log: those that cannot be read, those that are revoked and
//! still presented, and those that expire soon.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    time::Duration,
};

use petstore_domain::{Corruption, KeyAdmin, KeyId, RevokedUse};
use petstore_http::RevokedKeyCounter;
use tokio::time::{self, Instant};

use crate::clock::{days_until, rfc3339};

/// Keys that one round names; the rest are counted.
const MAX_NAMED: usize = 10;
/// How often a key is logged, however often it is presented.
const LOG_EVERY: Duration = Duration::from_mins(1);
/// How long after one round the next begins.
const EXPIRING_EVERY: Duration = Duration::from_hours(24);

/// The corrupt keys of the round before, which are not logged again.
#[derive(Debug, Default)]
pub(super) struct CorruptKeys {
    known: HashSet<Corruption>,
}

impl CorruptKeys {
    /// Logs those of `current` that the round before did not have.
    pub(super) fn log_new(&mut self, current: Vec<Corruption>) {
        let new = self.take_new(current);
        for corruption in new.iter().take(MAX_NAMED) {
            tracing::error!(%corruption, "an API key cannot be read, so it is refused");
        }
        if new.len() > MAX_NAMED {
            let more = new.len() - MAX_NAMED;
            tracing::error!(more, "more API keys cannot be read, so they are refused");
        }
    }

    /// Those of `current` that were not among the ones before.
    fn take_new(&mut self, current: Vec<Corruption>) -> Vec<Corruption> {
        let new = current.iter().filter(|key| !self.known.contains(key)).cloned().collect();
        self.known = current.into_iter().collect();
        new
    }
}

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
    pub(super) fn note(&mut self, used: &[RevokedUse]) {
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

/// Warns of the API keys that expire soon: at the start, and once a day. Never ends.
pub(super) async fn warn_of_expiring(admin: &KeyAdmin) {
    loop {
        match admin.list().await {
            Ok((stored, now)) => {
                let soon: Vec<_> = stored.expiring_soon(now).collect();
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
        time::sleep(EXPIRING_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use petstore_domain::{Corruption, KeyId, KeyName, RevokedUse};
    use tokio::time::advance;

    use super::{CorruptKeys, RevokedKeys};

    #[test]
    fn a_corrupt_key_is_logged_once_and_again_after_it_was_mended() {
        let [one, two, otherwise] = [("API key 1", "a"), ("API key 2", "a"), ("API key 1", "b")]
            .map(|(key, rule)| Corruption::new(key, rule));
        let mut keys = CorruptKeys::default();
        let rounds = [
            (vec![], vec![]),
            (vec![one.clone()], vec![one.clone()]),
            (vec![one.clone()], vec![]),
            (vec![one.clone(), two.clone()], vec![two.clone()]),
            (vec![otherwise.clone(), two.clone()], vec![otherwise]),
            (vec![two.clone()], vec![]),
            (vec![one.clone(), two], vec![one]),
        ];
        for (current, new) in rounds {
            assert_eq!(keys.take_new(current), new);
        }
    }

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
