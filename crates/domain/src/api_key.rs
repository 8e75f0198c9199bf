//! API keys: the words of their administration.

mod name;
mod secret;

pub use name::{InvalidKeyName, KeyName};
pub use secret::{ApiKeySecret, KeyDigest};

use crate::Timestamp;

/// Identifier of an API key within one store. Assigned in growing order and never twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub i64);

/// An API key as a store knows it: everything but the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Assigned by the store.
    pub id: KeyId,
    /// What people call it. Only the two keys of a roll share a name while both live.
    pub name: KeyName,
    /// Of the whole key.
    pub digest: KeyDigest,
    /// The key's first characters, so that people can tell which one it is.
    pub prefix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this moment on the key is refused; never when `None`.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked; refused from then on.
    pub revoked_at: Option<Timestamp>,
    /// The last use that was written back, at most about a minute behind the true one.
    pub last_used_at: Option<Timestamp>,
}

/// Whether a key opens the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It does.
    Live,
    /// It did, until its time was over.
    Expired,
    /// Somebody has withdrawn it.
    Revoked,
}

impl ApiKey {
    /// The state of the key at the time `now`. Revoked outweighs expired.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|expiry| expiry <= now) {
            KeyState::Expired
        } else {
            KeyState::Live
        }
    }
}

/// An API key to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiKey {
    /// See [`ApiKey::name`].
    pub name: KeyName,
    /// See [`ApiKey::digest`].
    pub digest: KeyDigest,
    /// See [`ApiKey::prefix`].
    pub prefix: String,
    /// See [`ApiKey::created_at`].
    pub created_at: Timestamp,
    /// See [`ApiKey::expires_at`].
    pub expires_at: Option<Timestamp>,
}

impl NewApiKey {
    /// The key under the identifier that the store has assigned: neither revoked nor used.
    #[must_use]
    pub fn with_id(self, id: KeyId) -> ApiKey {
        let Self { name, digest, prefix, created_at, expires_at } = self;
        ApiKey {
            id,
            name,
            digest,
            prefix,
            created_at,
            expires_at,
            revoked_at: None,
            last_used_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKeySecret, KeyId, KeyName, KeyState, NewApiKey};
    use crate::Timestamp;

    #[test]
    fn a_key_lives_until_it_expires_or_is_revoked() {
        let secret = ApiKeySecret::from_entropy(&[7; 32]);
        let key = |expires_at: Option<i64>, revoked_at: Option<i64>| {
            let mut key = NewApiKey {
                name: KeyName::parse("web").unwrap(),
                digest: secret.digest(),
                prefix: secret.prefix().to_owned(),
                created_at: Timestamp(0),
                expires_at: expires_at.map(Timestamp),
            }
            .with_id(KeyId(1));
            key.revoked_at = revoked_at.map(Timestamp);
            key.state(Timestamp(100))
        };
        assert_eq!(key(None, None), KeyState::Live);
        assert_eq!(key(Some(101), None), KeyState::Live);
        assert_eq!(key(Some(100), None), KeyState::Expired);
        assert_eq!(key(Some(99), None), KeyState::Expired);
        assert_eq!(key(None, Some(50)), KeyState::Revoked);
        assert_eq!(key(Some(99), Some(50)), KeyState::Revoked);
    }
}
