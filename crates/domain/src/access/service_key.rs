//! The API key in the configuration of the service.

use std::sync::{Arc, PoisonError, RwLock};

use crate::access::secret::{ApiKeySecret, KeyDigest};

/// A key outside of the store, for containers and tests. Only its digest is kept. Clones share the key: replacing it
/// in one clone replaces it in all.
#[derive(Clone, Debug)]
pub struct ServiceKey(Arc<RwLock<KeyDigest>>);

impl ServiceKey {
    /// The shortest key, in characters.
    const MIN_CHARS: usize = 16;
    /// The longest key, in characters, so that it fits a header.
    const MAX_CHARS: usize = 1024;

    /// Parses a key of any form that a header can carry.
    ///
    /// # Errors
    /// If `text` has fewer than 16 or more than 1024 characters, or a character that is not visible ASCII.
    pub fn parse(text: &str) -> Result<Self, InvalidServiceKey> {
        let fits = (Self::MIN_CHARS..=Self::MAX_CHARS).contains(&text.len());
        let well_formed = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        let key = || Self(Arc::new(RwLock::new(ApiKeySecret::new(text).digest())));
        well_formed.then(key).ok_or(InvalidServiceKey)
    }

    /// Replaces this key by `new`. The old key is refused from then on.
    pub fn replace(&self, new: &Self) {
        let new = new.digest();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// Returns whether this key has the digest.
    pub(crate) fn is(&self, digest: &KeyDigest) -> bool {
        self.digest() == *digest
    }

    fn digest(&self) -> KeyDigest {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text is not a service key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an API key must have {} to {} characters, all of them visible ASCII",
    ServiceKey::MIN_CHARS,
    ServiceKey::MAX_CHARS
)]
pub struct InvalidServiceKey;

#[cfg(test)]
mod tests {
    use super::ServiceKey;

    #[test]
    fn a_service_key_has_at_least_16_visible_characters() {
        for text in ["0123456789abcdef", "pst_0123456789_and-more!", &"k".repeat(1024)] {
            assert!(ServiceKey::parse(text).is_ok(), "{text:?}");
        }
        for text in
            ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdé0", &"k".repeat(1025)]
        {
            let rule = ServiceKey::parse(text).unwrap_err().to_string();
            assert!(rule.starts_with("an API key must have 16 to 1024 characters"), "{rule}");
        }
    }
}
