//! Driven port: the store of API keys, and what it gives: the keys, beside the rows that cannot be read as one.

use async_trait::async_trait;

use crate::{
    access::key::{ApiKey, KeyId},
    error::{Corruption, StoreError},
};

/// The limit of the keys that one [`save`](KeyStore::save) writes and removes: a store need not be able
/// to make a larger transaction.
pub const MAX_KEYS_PER_SAVE: usize = 100;

/// Keeps API keys, only as digests. What may be stored, and what becomes of a key, are rules of the
/// domain (such as [`add_key`](crate::add_key)); a store keeps the list and compares its revision.
///
/// # Contract
/// - As for [`PetRepository`](crate::PetRepository): atomic, durable, [`StoreError::Unavailable`] is
///   bounded and passes.
/// - Every change of keys, whoever makes it, gives the list another revision; a save of nothing but uses gives it none
///   ([`ApiKey::is_changed_by`]). A revision is random: it never comes again, in no other store either.
/// - No identifier is assigned twice, also when its key was removed.
/// - The digests of two keys differ.
/// - A corrupt row costs its own key and no other: it is named beside the keys that can be read, and the
///   others can be changed as ever.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Returns every key, live or not; `None` if the revision is still `unless`. Without `unless`, it is
    /// never `None`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError>;

    /// Writes and removes keys if the revision is still `expected`: at most [`MAX_KEYS_PER_SAVE`] of `changed` and
    /// `removed` together, each key named once. A changed key is written whole if its identifier is new, and those
    /// are [`next_id`](StoredKeys::next_id) and above. Of a key that is there, it becomes what both say
    /// ([`ApiKey::merged_with`]), so that no write undoes a revocation or a use. An identifier to be removed
    /// that does not exist is skipped. The revision stays if nothing is to be removed, and every changed key is there
    /// and [changed](ApiKey::is_changed_by) by nothing but a later use.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<Saved, StoreError>;
}

/// Whether keys were saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// They were.
    Yes,
    /// Somebody has changed keys since they were loaded. Nothing was changed.
    Lost,
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
