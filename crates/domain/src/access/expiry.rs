//! The rule: which keys an operator should replace soon.

use std::time::Duration;

use crate::{
    access::key::{ApiKey, KeyState},
    timestamp::Timestamp,
};

/// How long before its end a key is warned of.
const NOTICE: Duration = Duration::from_hours(14 * 24);

/// The live keys that expire within two weeks of `now` and have no successor: no live key of the same
/// name that lasts longer, as a rolled key has.
pub fn expiring_soon(keys: &[ApiKey], now: Timestamp) -> impl Iterator<Item = &ApiKey> {
    let is_live = move |key: &&ApiKey| key.state(now) == KeyState::Live;
    keys.iter().filter(is_live).filter(move |key| {
        let Some(end) = key.expires_at.filter(|end| *end <= now.plus(NOTICE)) else { return false };
        let mut others = keys.iter().filter(is_live).filter(|other| other.name == key.name);
        !others.any(|other| other.expires_at.is_none_or(|other| other > end))
    })
}

#[cfg(test)]
mod tests {
    use super::expiring_soon;
    use crate::{ApiKey, ApiKeySecret, KeyId, KeyName, NewApiKey, Timestamp};

    const DAY: i64 = 86_400_000;

    fn key(id: i64, name: &str, expires_at: Option<i64>) -> ApiKey {
        let secret = ApiKeySecret::from_entropy(&[7; 32]);
        NewApiKey::new(
            KeyName::parse(name).unwrap(),
            &secret,
            Timestamp(0),
            expires_at.map(Timestamp),
        )
        .with_id(KeyId(id))
    }

    #[test]
    fn a_key_is_warned_of_for_two_weeks_unless_it_has_a_successor() {
        let revoked = |key: ApiKey| ApiKey { revoked_at: Some(Timestamp(1)), ..key };
        let keys = [
            key(1, "soon", Some(114 * DAY)),
            key(2, "later", Some(114 * DAY + 1)),
            key(3, "never", None),
            key(4, "over", Some(100 * DAY)),
            revoked(key(5, "revoked", Some(100 * DAY + 1))),
            key(6, "rolled", Some(101 * DAY)),
            key(7, "rolled", None),
            key(8, "rolled-again", Some(101 * DAY)),
            key(9, "rolled-again", Some(102 * DAY)),
            key(10, "successor-revoked", Some(101 * DAY)),
            revoked(key(11, "successor-revoked", None)),
            revoked(key(12, "successor-revoked", Some(200 * DAY))),
            key(13, "ends-together", Some(101 * DAY)),
            key(14, "ends-together", Some(101 * DAY)),
        ];
        let soon: Vec<_> = expiring_soon(&keys, Timestamp(100 * DAY)).map(|key| key.id.0).collect();
        assert_eq!(soon, [1, 9, 10, 13, 14]);
    }
}
