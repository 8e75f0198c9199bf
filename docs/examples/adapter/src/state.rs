//! What all lines come to.

use std::collections::BTreeMap;

use petstore_domain::{
    ApiKey, CatalogueVersion, Corruption, IdempotencyId, IdempotencyRecord, KeyId, KeyState, Pet,
    PetId, StoreError, Timestamp,
};

use crate::line::Line;

#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// How many lines were applied.
    pub(crate) writes: u64,
    epoch: u64,
}

impl State {
    /// Applies one line.
    pub(crate) fn apply(&mut self, line: Line) -> Result<(), Corruption> {
        self.writes += 1;
        match line {
            Line::Store { epoch } => self.epoch = epoch,
            Line::Pet { pet, record } => {
                let pet = pet.read()?;
                self.pets.insert(pet.id, pet);
                record.map_or(Ok(()), |record| self.apply(Line::Record(record)))?;
            }
            Line::Record(record) => {
                let record = IdempotencyRecord::from(record);
                self.records.insert(record.id, record);
            }
            Line::Purged(ids) => self.records.retain(|id, _| !ids.contains(&id.0)),
            Line::Keys(keys) => {
                for key in keys {
                    let key = key.read()?;
                    self.keys.insert(key.id, key);
                }
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

    /// The keys that are live at `now`.
    pub(crate) fn live_keys(&self, now: Timestamp) -> impl Iterator<Item = &ApiKey> {
        self.keys.values().filter(move |key| key.state(now) == KeyState::Live)
    }

    pub(crate) fn next_pet(&self) -> Result<PetId, StoreError> {
        next(self.pets.last_key_value().map(|(id, _)| id.0)).map(PetId)
    }

    pub(crate) fn next_key(&self) -> Result<KeyId, StoreError> {
        next(self.keys.last_key_value().map(|(id, _)| id.0)).map(KeyId)
    }
}

/// The identifier that follows the highest. Restored ones may leave none.
fn next(highest: Option<i64>) -> Result<i64, StoreError> {
    let next = highest.unwrap_or(0).max(0).checked_add(1);
    next.ok_or_else(|| StoreError::unavailable("no identifier is left"))
}
