//! Driven port: the store of API keys, and the list of keys that it returns.

use async_trait::async_trait;

use crate::{
    access::key::{ApiKey, CorruptKey, KeyId},
    error::{Corruption, StoreError},
    timestamp::Timestamp,
};

/// The largest number of keys that one [`save`](KeyStore::save) writes and removes, so that its transaction fits every
/// store.
pub const MAX_KEYS_PER_SAVE: usize = 100;

/// Keeps API keys, each as a digest without its clear text. The domain has the rules for changes, such as
/// [`add_key`](crate::add_key); a store keeps the list and compares its revision.
///
/// # Contract
/// - Methods are atomic and durable. A store that cannot answer returns [`StoreError::Unavailable`] within a bounded
///   time, and recovers without a restart, as for [`PetRepository`](crate::PetRepository).
/// - Each [`save`](Self::save) that returns [`SaveOutcome::Saved`], and each change of keys by
///   [`write_rows`](crate::Archive::write_rows), gives the list a new revision. Revisions have random bits: a revision
///   never recurs, and two stores never share a revision.
/// - No identifier is assigned twice, even after its key was removed.
/// - The digests of two keys differ. A removed key may be stored again.
/// - A corrupt row affects no other key. The list contains the corrupt row beside the readable keys, and the readable
///   keys can still be changed.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Returns every key, live or not, in any [phase](crate::Phase). Returns `None` only if the revision is still
    /// `unless`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError>;

    /// Returns at least the keys that were added or changed since `known`, in one snapshot. Returns every key if
    /// `known` is `None`. The caller compares the sum of its own stamps with [`KeyChanges::sum`]. If the sums differ,
    /// the caller lacks a row or holds a removed row, and so loads every key. `known` may come from another store, or
    /// from a state that the store has lost.
    ///
    /// The default implementation returns every key if the revision is not the one of `known`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let stored = self.load(known.map(|known| known.revision)).await?;
        let changes = stored.map(KeyChanges::from).or_else(|| known.map(KeyChanges::none_since));
        changes.ok_or_else(no_keys)
    }

    /// Writes and removes keys if the revision is still `expected`. `changed` and `removed` together have at most
    /// [`MAX_KEYS_PER_SAVE`] keys, each key once.
    ///
    /// A changed key is stored whole, except that a key that is stored already keeps its last use, which
    /// [`note_uses`](Self::note_uses) changes. A new key has an identifier of [`next_id`](StoredKeys::next_id) or
    /// above. An identifier in `removed` without a key is skipped.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if another key, which is not in `removed`, has the digest of a changed key. After another
    /// [`StoreError`], the keys may or may not be saved.
    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError>;

    /// Stores the last uses of keys: at most [`MAX_KEYS_PER_SAVE`], each key named once. The later use wins, and
    /// missing keys are skipped. The revision does not change.
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
    store.load(None).await?.ok_or_else(no_keys)
}

fn no_keys() -> StoreError {
    StoreError::unavailable("the store returned no keys")
}

/// Identifies one state of the keys of one store. Has random bits, so no two states share a revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRevision(pub u128);

/// A state of the keys. [`KeyStore::load_changes`] returns the changes since this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMark {
    /// Identifies the state.
    pub revision: KeyRevision,
    /// The place of the state among the changes of the store. Only the store can interpret it.
    pub position: i64,
}

/// A row with its stamp. A store gives a row another stamp whenever the row changes, or gives every row the stamp 1.
pub type KeyRow = (Result<ApiKey, CorruptKey>, u64);

/// The changes of the keys of a store, read in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChanges {
    /// The state of the snapshot. With an unchanged revision, `rows` and `sum` are meaningless.
    pub mark: KeyMark,
    /// At least the rows that were added or changed, each identifier once.
    pub rows: Vec<KeyRow>,
    /// The wrapping sum of the stamps of all rows in the snapshot, including the rows that are not in `rows`.
    pub sum: u64,
}

impl KeyChanges {
    /// Returns the answer for an unchanged revision.
    #[must_use]
    pub fn none_since(mark: KeyMark) -> Self {
        Self { mark, rows: Vec::new(), sum: 0 }
    }

    /// Returns the sum of the stamps in `rows`. If it is [`sum`](Self::sum), `rows` has every row of the store.
    #[must_use]
    pub fn sum_of_rows(&self) -> u64 {
        self.rows.iter().fold(0, |sum, (_, stamp)| sum.wrapping_add(*stamp))
    }
}

/// Makes the answer of a store without stamps: every row, each with the stamp 1.
impl From<StoredKeys> for KeyChanges {
    fn from(StoredKeys { keys, corrupt, revision, .. }: StoredKeys) -> Self {
        let rows = keys.into_iter().map(Ok).chain(corrupt.into_iter().map(Err));
        let rows: Vec<_> = rows.map(|row| (row, 1)).collect();
        let sum = rows.len() as u64;
        Self { mark: KeyMark { revision, position: 0 }, rows, sum }
    }
}

/// Every key of a store in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKeys {
    /// The keys, live or not, ascending by identifier.
    pub keys: Vec<ApiKey>,
    /// The rows that break a rule, in the order of the store.
    pub corrupt: Vec<CorruptKey>,
    /// Identifies this state.
    pub revision: KeyRevision,
    /// The next identifier: above every identifier that a key or a corrupt row has or had.
    pub next_id: KeyId,
}

impl StoredKeys {
    /// Makes the list from rows in ascending order of identifier.
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

    /// Returns whether there are neither keys nor corrupt rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.corrupt.is_empty()
    }

    /// Returns every key, for callers that need all of them.
    ///
    /// # Errors
    /// The first [`Corruption`], if there is a corrupt row.
    pub fn into_all(self) -> Result<Vec<ApiKey>, Corruption> {
        self.corrupt.into_iter().next().map_or(Ok(self.keys), |corrupt| Err(corrupt.corruption))
    }
}

/// Makes the list of a store that has never removed a key.
#[cfg(any(test, feature = "mocks"))]
impl From<Vec<ApiKey>> for StoredKeys {
    fn from(keys: Vec<ApiKey>) -> Self {
        let next_id = KeyId(keys.last().map_or(1, |key| key.id.0 + 1));
        Self::new(KeyRevision(7), next_id, keys.into_iter().map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyId, KeyRevision, StoredKeys};
    use crate::access::tests::{corrupt, key};

    #[test]
    fn all_keys_are_returned_unless_a_row_is_corrupt() {
        let web = key(1, "web", None);
        assert_eq!(StoredKeys::from(vec![web.clone()]).into_all(), Ok(vec![web.clone()]));
        let rows = [Err(corrupt(2, "app")), Ok(web)];
        let mut stored = StoredKeys::new(KeyRevision(1), KeyId(3), rows);
        assert_eq!(stored.keys.pop().map(|key| key.id), Some(KeyId(1)));
        assert!(!stored.is_empty(), "a corrupt row counts as a key");
        assert_eq!(stored.into_all(), Err(corrupt(2, "app").corruption));
    }
}
