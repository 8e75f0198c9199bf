//! What all lines come to.

use std::collections::BTreeMap;

use petstore_domain::{
    ApiKey, CatalogueVersion, Corruption, IdempotencyId, IdempotencyRecord, KeyId, KeyRevision,
    Pet, PetId, StoreError,
};

use crate::line::Line;

#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// At or above the identifier of every animal.
    highest_pet: i64,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// The highest identifier that a key ever had.
    highest_key: i64,
    /// How often keys were changed.
    key_changes: u64,
    epoch: u64,
}

impl State {
    /// Applies one line.
    pub(crate) fn apply(&mut self, line: Line) -> Result<(), Corruption> {
        match line {
            Line::Store { epoch } => self.epoch = epoch,
            Line::Pet { pet, record } => {
                let pet = pet.read()?;
                self.highest_pet = self.highest_pet.max(pet.id.0);
                self.pets.insert(pet.id, pet);
                record.map_or(Ok(()), |record| self.apply(Line::Record(record)))?;
            }
            Line::AssignAbove(id) => self.highest_pet = self.highest_pet.max(id),
            Line::Record(record) => {
                let record = IdempotencyRecord::from(record);
                self.records.insert(record.id, record);
            }
            Line::Purged(ids) => self.records.retain(|id, _| !ids.contains(&id.0)),
            Line::Keys(keys) => {
                for key in keys {
                    let key = key.read()?;
                    let stored = self.keys.get(&key.id);
                    let is_change = stored.is_none_or(|stored| stored.is_changed_by(&key));
                    self.key_changes += u64::from(is_change);
                    self.highest_key = self.highest_key.max(key.id.0);
                    self.keys.insert(key.id, key);
                }
            }
            Line::RemovedKeys(ids) => {
                self.key_changes += u64::from(!ids.is_empty());
                self.keys.retain(|id, _| !ids.contains(&id.0));
            }
            Line::Together(lines) => lines.into_iter().try_for_each(|line| self.apply(line))?,
        }
        Ok(())
    }

    /// No animal is ever removed, so their number tells one state from another; the epoch sets this
    /// file apart from all others.
    pub(crate) fn version(&self) -> CatalogueVersion {
        CatalogueVersion(u128::from(self.epoch) << 64 | self.pets.len() as u128)
    }

    /// The same for the keys.
    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(u128::from(self.epoch) << 64 | u128::from(self.key_changes))
    }

    /// The identifier that follows the highest, which may have none behind it.
    pub(crate) fn next_pet(&self) -> Result<PetId, StoreError> {
        let next = self.highest_pet.checked_add(1).map(PetId);
        next.ok_or_else(|| StoreError::unavailable("no identifier is left"))
    }

    pub(crate) fn next_key(&self) -> KeyId {
        KeyId(self.highest_key.saturating_add(1))
    }
}
