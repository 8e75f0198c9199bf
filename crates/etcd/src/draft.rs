//! The draft of a transaction.

use std::{collections::BTreeMap, fmt::Display};

use petstore_domain::{ApiKey, IdempotencyRecord, KeyId, Pet, PetId, StoreError};

use crate::{
    head::{Head, HeadRead},
    kv::KeyValue,
    rows::{self, Expiry, Keys},
};

/// The entries that a transaction puts (`Some`) or deletes (`None`). Each is one operation.
pub(crate) type Changes = BTreeMap<String, Option<Vec<u8>>>;

/// The new head and the changed entries of a transaction, planned from the entries of `read`.
pub(crate) struct Draft<'a> {
    keys: &'a Keys,
    read: &'a HeadRead,
    pub(crate) head: Head,
    changes: Changes,
    /// The content of the expiry entry that [`finish`](Self::finish) puts: the records that the transaction puts, or
    /// that a purge keeps.
    pub(crate) expiry: Expiry,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(keys: &'a Keys, read: &'a HeadRead) -> Self {
        let (head, changes, expiry) = (read.head.clone(), Changes::new(), Expiry::new());
        Self { keys, read, head, changes, expiry }
    }

    /// Returns the entry under `key` as the transaction leaves it. The entry must have been read.
    pub(crate) fn entry(&self, key: &str) -> Option<KeyValue> {
        let Some(change) = self.changes.get(key) else {
            return self.read.found.iter().find(|entry| entry.key.0 == key.as_bytes()).cloned();
        };
        Some(KeyValue::new(key, change.clone()?))
    }

    pub(crate) fn pet(&self, id: PetId) -> Result<Option<Pet>, StoreError> {
        Ok(self.entry(&self.keys.pet(None, id)).as_ref().map(rows::pet).transpose()?)
    }

    pub(crate) fn record(&self, id: impl Display) -> Result<Option<IdempotencyRecord>, StoreError> {
        Ok(self.entry(&self.keys.record(&id)).as_ref().map(rows::record).transpose()?)
    }

    /// Returns the API key `id`; `None` also if it is corrupt.
    pub(crate) fn api_key(&self, id: KeyId) -> Option<ApiKey> {
        rows::api_key(&self.entry(&self.keys.api_key(id))?).ok()
    }

    pub(crate) fn put_pet(&mut self, pet: &Pet) {
        let row = rows::of_pet(pet);
        if pet.status.is_some() {
            self.put(self.keys.pet(pet.status, pet.id), row.clone());
        }
        self.put(self.keys.pet(None, pet.id), row);
    }

    /// Puts a record. `stored` is the stored record with the same id, which the new record replaces.
    pub(crate) fn put_record(
        &mut self,
        record: &IdempotencyRecord,
        stored: Option<&IdempotencyRecord>,
    ) {
        if let Some(stored) = stored {
            self.delete(self.keys.recorded(stored.position()));
        }
        let row = rows::of_record(record);
        self.put(self.keys.recorded(record.position()), row.clone());
        self.put(self.keys.record(&record.id), row);
        self.expiry.push((record.id.to_string(), record.at.0));
    }

    pub(crate) fn put_api_key(&mut self, key: &ApiKey) {
        self.put(self.keys.api_key(key.id), rows::of_api_key(key));
        self.head.last_key = self.head.last_key.max(key.id.0);
    }

    fn put(&mut self, key: String, value: Vec<u8>) {
        self.changes.insert(key, Some(value));
    }

    pub(crate) fn delete(&mut self, key: String) {
        self.changes.insert(key, None);
    }

    /// Returns the new head and the changes; `None` if nothing changes. `group` is the name of the transaction.
    pub(crate) fn finish(mut self, group: u64) -> Option<(Head, Changes)> {
        if self.changes.is_empty() && self.head == self.read.head {
            return None;
        }
        if let Some(oldest) = self.expiry.iter().map(|(_, at)| *at).min() {
            let key = format!("{}{group:016x}", self.keys.expiry(oldest));
            self.put(key, rows::json(&self.expiry));
        }
        self.head.note_group(group);
        Some((self.head, self.changes))
    }
}
