//! The API keys that a store holds, beside the rows that cannot be read as one.

use crate::{access::key::ApiKey, error::Corruption};

/// What a read of the API keys found. A row that breaks a rule costs its own key and no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredKeys {
    /// Ascending by identifier.
    pub keys: Vec<ApiKey>,
    /// One for each row that is not a key, in the order in which they were found.
    pub corrupt: Vec<Corruption>,
}

impl StoredKeys {
    /// Whether there is no row at all, neither a key nor a corrupt one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.corrupt.is_empty()
    }

    /// Every key, for whom one that is missing would be too many.
    ///
    /// # Errors
    /// The first [`Corruption`].
    pub fn into_all(self) -> Result<Vec<ApiKey>, Corruption> {
        self.corrupt.into_iter().next().map_or(Ok(self.keys), Err)
    }
}

impl From<Vec<ApiKey>> for StoredKeys {
    fn from(keys: Vec<ApiKey>) -> Self {
        Self { keys, corrupt: Vec::new() }
    }
}

/// From rows in ascending order of their identifiers.
impl FromIterator<Result<ApiKey, Corruption>> for StoredKeys {
    fn from_iter<T: IntoIterator<Item = Result<ApiKey, Corruption>>>(rows: T) -> Self {
        let mut stored = Self::default();
        for row in rows {
            match row {
                Ok(key) => stored.keys.push(key),
                Err(corruption) => stored.corrupt.push(corruption),
            }
        }
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::StoredKeys;
    use crate::{
        access::{
            key::{KeyId, NewApiKey},
            name::KeyName,
            rights::KeyRights,
            secret::KeyDigest,
        },
        error::Corruption,
        timestamp::Timestamp,
    };

    #[test]
    fn all_keys_are_given_unless_a_row_is_corrupt() {
        let key = NewApiKey {
            name: KeyName::parse("web").unwrap(),
            digest: KeyDigest([1; 32]),
            prefix: "pst_1234".to_owned(),
            rights: KeyRights::Full,
            created_at: Timestamp(0),
            expires_at: None,
        }
        .with_id(KeyId(1));
        let mut stored = StoredKeys::from(vec![key.clone()]);
        assert_eq!(stored.clone().into_all(), Ok(vec![key]));
        let corruption = Corruption::new("API key 2", "its digest has 32 bytes");
        stored.corrupt.push(corruption.clone());
        assert_eq!(stored.into_all(), Err(corruption));
    }
}
