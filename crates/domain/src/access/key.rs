//! A stored API key and its state: live, expired or revoked.

use std::fmt;

use crate::{
    access::{
        name::KeyName,
        secret::{ApiKeySecret, KeyDigest, KeyRights},
    },
    error::Corruption,
    timestamp::Timestamp,
};

/// The identifier of an API key within one store. Stores assign identifiers in ascending order, and each identifier
/// only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub i64);

/// An API key as a store keeps it: everything but the clear text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The identifier that the store has assigned.
    pub id: KeyId,
    /// The name of the key. Live keys share a name only after a roll.
    pub name: KeyName,
    /// The digest of the whole key.
    pub digest: KeyDigest,
    /// The first characters of the key, so that people recognize it.
    pub prefix: String,
    /// The rights of the key.
    pub rights: KeyRights,
    /// The time at which the key was made.
    pub created_at: Timestamp,
    /// The time from which the key is refused; `None` if it never expires.
    pub expires_at: Option<Timestamp>,
    /// The time at which the key was revoked. The key is refused from then on.
    pub revoked_at: Option<Timestamp>,
    /// The last use that the service has written back, at most about a minute before the true last use.
    pub last_used_at: Option<Timestamp>,
}

/// The state of a key. The service accepts only live keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// The key is accepted.
    Live,
    /// The key is refused because it has expired.
    Expired,
    /// The key is refused because it was revoked.
    Revoked,
}

impl ApiKey {
    /// Returns the state of the key at the time `now`. A key that is revoked and expired counts as revoked.
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

    /// Returns the time from which the key is refused; `None` if it is live at `now`.
    pub(crate) fn ended_at(&self, now: Timestamp) -> Option<Timestamp> {
        let end = earlier(self.expires_at, self.revoked_at);
        end.filter(|_| self.state(now) != KeyState::Live)
    }

    /// Returns the key with an expiry of `at` or earlier. A roll retires the older keys.
    #[must_use]
    pub fn retired(self, at: Timestamp) -> Self {
        Self { expires_at: earlier(self.expires_at, Some(at)), ..self }
    }

    /// Merges two copies of one key: the earlier expiry and revocation, the later last use. So a merge never extends
    /// the life of a key. Returns `None` if `self` and `other` are different keys.
    #[must_use]
    pub fn merged_with(&self, other: &Self) -> Option<Self> {
        let Self { expires_at, revoked_at, last_used_at, .. } = *other;
        let is_same = *other == Self { expires_at, revoked_at, last_used_at, ..self.clone() };
        is_same.then(|| Self {
            expires_at: earlier(self.expires_at, expires_at),
            revoked_at: earlier(self.revoked_at, revoked_at),
            last_used_at: self.last_used_at.max(last_used_at),
            ..self.clone()
        })
    }

    /// Makes an API key from a stored row.
    ///
    /// # Errors
    /// [`CorruptKey`] names the key and the rule that the row breaks.
    pub fn from_stored(row: StoredApiKey<'_>) -> Result<Self, CorruptKey> {
        let StoredApiKey { id, name, digest, prefix, rights, .. } = row;
        let corrupt = |rule: &dyn fmt::Display| CorruptKey {
            id: Some(KeyId(id)),
            name: Some(name.to_owned()),
            corruption: Corruption::new(format_args!("API key {id}"), rule),
        };
        let digest = digest.try_into().map_err(|_| corrupt(&"a digest has 32 bytes"))?;
        let rights = KeyRights::parse(rights).ok_or_else(|| corrupt(&"its rights are known"))?;
        Ok(Self {
            id: KeyId(id),
            name: KeyName::parse(name).map_err(|rule| corrupt(&rule))?,
            digest: KeyDigest(digest),
            prefix: prefix.to_owned(),
            rights,
            created_at: Timestamp(row.created_at),
            expires_at: row.expires_at.map(Timestamp),
            revoked_at: row.revoked_at.map(Timestamp),
            last_used_at: row.last_used_at.map(Timestamp),
        })
    }
}

/// The row of an [`ApiKey`] in a store, before its rules are checked. Times are milliseconds since 1970, as in
/// [`Timestamp`].
#[derive(Clone, Copy, Debug)]
pub struct StoredApiKey<'a> {
    /// See [`ApiKey::id`].
    pub id: i64,
    /// See [`ApiKey::name`].
    pub name: &'a str,
    /// The 32 bytes of [`ApiKey::digest`].
    pub digest: &'a [u8],
    /// See [`ApiKey::prefix`].
    pub prefix: &'a str,
    /// The word of [`KeyRights::as_str`].
    pub rights: &'a str,
    /// See [`ApiKey::created_at`].
    pub created_at: i64,
    /// See [`ApiKey::expires_at`].
    pub expires_at: Option<i64>,
    /// See [`ApiKey::revoked_at`].
    pub revoked_at: Option<i64>,
    /// See [`ApiKey::last_used_at`].
    pub last_used_at: Option<i64>,
}

/// A row that breaks a rule of API keys, with its readable parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptKey {
    /// The identifier, if it can be read.
    pub id: Option<KeyId>,
    /// The text of the name, if it can be read.
    pub name: Option<String>,
    /// The row and the rule.
    pub corruption: Corruption,
}

/// Returns the earlier of two times; `None` counts as never.
fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

/// An API key before a store has assigned its identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiKey {
    /// See [`ApiKey::name`].
    pub name: KeyName,
    /// See [`ApiKey::digest`].
    pub digest: KeyDigest,
    /// See [`ApiKey::prefix`].
    pub prefix: String,
    /// See [`ApiKey::rights`].
    pub rights: KeyRights,
    /// See [`ApiKey::created_at`].
    pub created_at: Timestamp,
    /// See [`ApiKey::expires_at`].
    pub expires_at: Option<Timestamp>,
}

impl NewApiKey {
    /// Makes a key from its clear text.
    #[must_use]
    pub fn new(
        name: KeyName,
        secret: &ApiKeySecret,
        created_at: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Self {
        let (digest, prefix) = (secret.digest(), secret.prefix().to_owned());
        Self { name, digest, prefix, rights: secret.rights(), created_at, expires_at }
    }

    /// Returns the key with its identifier, neither revoked nor used.
    #[must_use]
    pub fn with_id(self, id: KeyId) -> ApiKey {
        let Self { name, digest, prefix, rights, created_at, expires_at } = self;
        ApiKey {
            id,
            name,
            digest,
            prefix,
            rights,
            created_at,
            expires_at,
            revoked_at: None,
            last_used_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, KeyId, KeyState, StoredApiKey};
    use crate::{KeyRights, Timestamp, access::tests};

    fn key(expires_at: Option<i64>, revoked_at: Option<i64>, last_used_at: Option<i64>) -> ApiKey {
        ApiKey {
            revoked_at: revoked_at.map(Timestamp),
            last_used_at: last_used_at.map(Timestamp),
            ..tests::key(1, "web", expires_at)
        }
    }

    #[test]
    fn two_merged_copies_of_a_key_end_at_the_earlier_end() {
        let one = key(None, Some(5), Some(3));
        let other = key(Some(9), None, Some(4));
        let both = key(Some(9), Some(5), Some(4));
        let ends_later = key(Some(10), Some(6), Some(1));
        for (left, right) in [(&one, &other), (&both, &one), (&both, &ends_later)] {
            assert_eq!(left.merged_with(right).as_ref(), Some(&both), "{left:?} {right:?}");
            assert_eq!(right.merged_with(left).as_ref(), Some(&both), "{right:?} {left:?}");
        }

        let renamed = ApiKey { name: tests::name("app"), ..one.clone() };
        let renumbered = ApiKey { id: KeyId(2), ..one.clone() };
        let later = ApiKey { created_at: Timestamp(1), ..one.clone() };
        let limited = ApiKey { rights: KeyRights::ReadOnly, ..one.clone() };
        for stranger in [renamed, renumbered, later, limited] {
            assert_eq!(one.merged_with(&stranger), None);
        }
    }

    #[test]
    fn a_key_lives_until_it_expires_or_is_revoked() {
        for (expires_at, revoked_at, state) in [
            (None, None, KeyState::Live),
            (Some(101), None, KeyState::Live),
            (Some(100), None, KeyState::Expired),
            (Some(99), None, KeyState::Expired),
            (None, Some(50), KeyState::Revoked),
            (Some(99), Some(50), KeyState::Revoked),
        ] {
            let key = key(expires_at, revoked_at, None);
            assert_eq!(key.state(Timestamp(100)), state, "{expires_at:?} {revoked_at:?}");
        }
        assert_eq!(key(Some(99), Some(50), None).ended_at(Timestamp(100)), Some(Timestamp(50)));
    }

    #[test]
    fn a_stored_row_is_a_valid_key_or_an_error_that_names_the_broken_rule() {
        let row = StoredApiKey {
            id: 7,
            name: "web",
            digest: &[1; 32],
            prefix: "pst_abcd",
            rights: "full",
            created_at: 1,
            expires_at: Some(2),
            revoked_at: None,
            last_used_at: Some(3),
        };
        let key = ApiKey::from_stored(row).unwrap();
        assert_eq!((key.id, key.name.as_str(), key.rights), (KeyId(7), "web", KeyRights::Full));
        for (row, rule) in [
            (StoredApiKey { name: "", ..row }, "a key's name is"),
            (StoredApiKey { digest: &[1; 31], ..row }, "a digest has 32 bytes"),
            (StoredApiKey { rights: "all", ..row }, "its rights are known"),
        ] {
            let corrupt = ApiKey::from_stored(row).unwrap_err();
            assert_eq!((corrupt.id, corrupt.name.as_deref()), (Some(KeyId(7)), Some(row.name)));
            assert_eq!(corrupt.corruption.what, "API key 7");
            assert!(corrupt.corruption.rule.starts_with(rule), "{corrupt:?}");
        }
    }
}
