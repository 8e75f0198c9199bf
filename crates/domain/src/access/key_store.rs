//! Driven port: the store of API keys, and what it gives: the keys, beside the rows that cannot be read as one.

use async_trait::async_trait;

use crate::{
    access::key::{ApiKey, CorruptKey, KeyId},
    error::{Corruption, StoreError},
    timestamp::Timestamp,
};

/// The limit of the keys that one [`save`](KeyStore::save) writes and removes: a store need not be able
/// to make a larger transaction.
pub const MAX_KEYS_PER_SAVE: usize = 100;

/// Keeps API keys, only as digests. The rules of which keys may be stored are the domain's (such as
/// [`add_key`](crate::add_key)); a store keeps the list and compares its revision.
///
/// # Contract
/// - As for [`PetRepository`](crate::PetRepository): atomic, durable, and
///   [`StoreError::Unavailable`] is bounded and passes.
/// - Each [`save`](Self::save) that is [`SaveOutcome::Saved`], and each change of keys by
///   [`write_rows`](crate::Archive::write_rows), gives the list another revision. A revision is
///   random: it never comes back, in no other store either.
/// - No identifier is assigned twice, also when its key was removed.
/// - The digests of two keys differ. A removed key may come back.
/// - A corrupt row costs its own key and no other: it is named beside the keys that can be read, and
///   the other keys can still be changed.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Returns every key, live or not, in any [phase](crate::Phase); `None` if the revision is still
    /// `unless`. Without `unless`, it is never `None`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError>;

    /// Writes and removes keys if the revision is still `expected`: at most [`MAX_KEYS_PER_SAVE`] of
    /// `changed` and `removed` together, each key named once.
    ///
    /// A changed key is stored whole. A new key has an identifier of
    /// [`next_id`](StoredKeys::next_id) or above. A key that the store holds keeps its last use,
    /// which only [`note_uses`](Self::note_uses) changes. An identifier in `removed` that no key has
    /// is skipped.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if another key has the digest of a changed one. After another
    /// [`StoreError`], whether the keys were saved is not known.
    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError>;

    /// Notes when keys were last used: at most [`MAX_KEYS_PER_SAVE`] uses, each key named once. The
    /// later use wins, and keys that the store does not hold are skipped. The revision stays.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Sealed`] if the store is not open.
    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError>;
}

/// The result of saving keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum SaveOutcome {
    /// The keys are saved.
    Saved,
    /// The keys have changed since they were loaded. Nothing was saved.
    Conflict,
}

/// Returns every key of `store`.
///
/// # Errors
/// [`StoreError`].
pub async fn load_keys(store: &dyn KeyStore) -> Result<StoredKeys, StoreError> {
    let loaded = store.load(None).await?;
    loaded.ok_or_else(|| StoreError::unavailable("the store has not given its keys"))
}

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

impl StoredKeys {
    /// Returns the keys of these rows, which ascend by identifier.
    pub fn new(
        revision: KeyRevision,
        next_id: KeyId,
        rows: impl IntoIterator<Item = Result<ApiKey, CorruptKey>>,
    ) -> Self {
        let rows = rows.into_iter();
        let keys = Vec::with_capacity(rows.size_hint().0);
        let mut stored = Self { keys, corrupt: Vec::new(), revision, next_id };
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
    use super::StoredKeys;
    use crate::{ApiKeySecret, CorruptKey, Corruption, KeyId, KeyName, NewApiKey, Timestamp};

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
