//! The API keys that a store holds, beside the rows that cannot be read as one.

use crate::{
    access::key::{ApiKey, KeyId},
    error::Corruption,
};

/// Names one state of the keys of one store. Random: two states never share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRevision(pub u128);

/// Every key of a store, as of one moment. A row that breaks a rule costs its own key and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKeys {
    /// Ascending by identifier, live or not.
    pub keys: Vec<ApiKey>,
    /// One for each row that is not a key, in the order in which they were found.
    pub corrupt: Vec<CorruptKey>,
    /// Names this state.
    pub revision: KeyRevision,
    /// Above every identifier that a key, or a corrupt row, has or had.
    pub next_id: KeyId,
}

/// A row that breaks a rule, and what can be read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptKey {
    /// Its identifier.
    pub id: Option<KeyId>,
    /// What stands where a name should.
    pub name: Option<String>,
    /// The rule.
    pub corruption: Corruption,
}

impl StoredKeys {
    /// Returns the keys of these rows, which ascend by identifier.
    pub fn new(
        revision: KeyRevision,
        next_id: KeyId,
        rows: impl IntoIterator<Item = Result<ApiKey, CorruptKey>>,
    ) -> Self {
        let mut stored = Self { keys: Vec::new(), corrupt: Vec::new(), revision, next_id };
        for row in rows {
            match row {
                Ok(key) => stored.keys.push(key),
                Err(corrupt) => stored.corrupt.push(corrupt),
            }
        }
        stored
    }

    /// Returns whether there is no row at all, neither a key nor a corrupt one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.corrupt.is_empty()
    }

    /// Returns every key, for whom one that is missing would be too many.
    ///
    /// # Errors
    /// The first [`Corruption`].
    pub fn into_all(self) -> Result<Vec<ApiKey>, Corruption> {
        self.corrupt.into_iter().next().map_or(Ok(self.keys), |corrupt| Err(corrupt.corruption))
    }
}

/// For tests: the keys of a store that has removed none.
#[cfg(any(test, feature = "mocks"))]
impl From<Vec<ApiKey>> for StoredKeys {
    fn from(keys: Vec<ApiKey>) -> Self {
        let next_id = KeyId(keys.last().map_or(1, |key| key.id.0 + 1));
        Self::new(KeyRevision(7), next_id, keys.into_iter().map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::{CorruptKey, StoredKeys};
    use crate::{ApiKeySecret, Corruption, KeyId, KeyName, NewApiKey, Timestamp};

    #[test]
    fn all_keys_are_given_unless_a_row_is_corrupt() {
        let secret = ApiKeySecret::from_entropy(&[1; 32]);
        let key = NewApiKey::new(KeyName::parse("web").unwrap(), &secret, Timestamp(0), None)
            .with_id(KeyId(1));
        let mut stored = StoredKeys::from(vec![key.clone()]);
        assert_eq!(stored.clone().into_all(), Ok(vec![key]));
        let corruption = Corruption::new("API key 2", "its digest has 32 bytes");
        let corrupt = CorruptKey { id: Some(KeyId(2)), name: None, corruption: corruption.clone() };
        stored.corrupt.push(corrupt);
        assert_eq!(stored.into_all(), Err(corruption));
    }
}
