//! The rule: may a new API key be stored?

use crate::{
    access::repository::{AddKeyError, RollKeyError},
    error::StoreError,
};

/// What a store holds in the transaction in which a new key is to be stored. The rules are here; an
/// adapter only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveKeys {
    /// How many keys are live.
    pub count: u32,
    /// Whether a live key has the new key's name.
    pub has_name: bool,
    /// Whether any key, live or not, has the new key's digest.
    pub has_digest: bool,
}

impl LiveKeys {
    /// Whether a key may be added where `max` may be live. The name is checked before the number.
    ///
    /// # Errors
    /// [`AddKeyError`]; two random keys never have one digest, so a digest that is stored already is a
    /// fault of the caller and no more than [`StoreError::Unavailable`].
    pub fn permit_add(self, max: u32) -> Result<(), AddKeyError> {
        if self.has_name {
            return Err(AddKeyError::NameTaken);
        }
        if self.count >= max {
            return Err(AddKeyError::TooManyKeys(max));
        }
        Ok(self.require_new_digest()?)
    }

    /// Whether a key may succeed the live one of its name, which stays live for a while, where `max`
    /// may be live.
    ///
    /// # Errors
    /// [`RollKeyError`]; of the digest as for [`permit_add`](Self::permit_add).
    pub fn permit_roll(self, max: u32) -> Result<(), RollKeyError> {
        if !self.has_name {
            return Err(RollKeyError::NoSuchKey);
        }
        if self.count >= max {
            return Err(RollKeyError::TooManyKeys(max));
        }
        Ok(self.require_new_digest()?)
    }

    fn require_new_digest(self) -> Result<(), StoreError> {
        if self.has_digest {
            return Err(StoreError::unavailable("an API key with this digest is already stored"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::LiveKeys;
    use crate::{AddKeyError, RollKeyError, StoreError};

    fn keys(count: u32, has_name: bool, has_digest: bool) -> LiveKeys {
        LiveKeys { count, has_name, has_digest }
    }

    #[test]
    fn a_key_is_added_under_a_free_name_while_there_is_room() {
        assert!(keys(9, false, false).permit_add(10).is_ok());
        assert!(matches!(keys(10, true, true).permit_add(10), Err(AddKeyError::NameTaken)));
        assert!(matches!(keys(10, false, true).permit_add(10), Err(AddKeyError::TooManyKeys(10))));
        let known = keys(9, false, true).permit_add(10);
        assert!(matches!(known, Err(AddKeyError::Store(StoreError::Unavailable(_)))));
    }

    #[test]
    fn a_key_is_rolled_under_a_name_that_is_live_while_there_is_room() {
        assert!(keys(9, true, false).permit_roll(10).is_ok());
        assert!(matches!(keys(10, false, true).permit_roll(10), Err(RollKeyError::NoSuchKey)));
        assert!(matches!(keys(10, true, true).permit_roll(10), Err(RollKeyError::TooManyKeys(10))));
        let known = keys(9, true, true).permit_roll(10);
        assert!(matches!(known, Err(RollKeyError::Store(StoreError::Unavailable(_)))));
    }
}
