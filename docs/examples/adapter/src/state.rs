//! What all lines say together.

use std::collections::BTreeMap;

use petstore_domain::{
    ApiKey, CatalogueVersion, Corruption, Fingerprint, KeyId, Pet, PetId, Timestamp,
};

use crate::line::{AttemptLine, Line};

#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// By the caller's digest and the text of the idempotency key.
    pub(crate) attempts: BTreeMap<([u8; 32], String), Attempt>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// How many lines were followed.
    pub(crate) writes: u64,
    epoch: u64,
}

/// The record of an addition that had an idempotency key.
#[derive(Clone)]
pub(crate) struct Attempt {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) pet: PetId,
    pub(crate) at: Timestamp,
}

impl State {
    /// Follows one line.
    pub(crate) fn apply(&mut self, line: Line) -> Result<(), Corruption> {
        self.writes += 1;
        match line {
            Line::Store { epoch } => self.epoch = epoch,
            Line::Pet { pet, attempt } => {
                let pet = pet.read()?;
                if let Some(line) = attempt {
                    self.record(line, pet.id);
                }
                self.pets.insert(pet.id, pet);
            }
            Line::Forgotten(records) => {
                for (caller, key) in records {
                    self.attempts.remove(&(caller, key));
                }
            }
            Line::Keys(keys) => {
                for key in keys {
                    let key = key.read()?;
                    self.keys.insert(key.id, key);
                }
            }
            Line::Attempt { pet, attempt } => self.record(attempt, PetId(pet)),
            Line::Together(lines) => lines.into_iter().try_for_each(|line| self.apply(line))?,
        }
        Ok(())
    }

    fn record(&mut self, line: AttemptLine, pet: PetId) {
        let record = Attempt { fingerprint: line.fingerprint(), pet, at: line.at() };
        self.attempts.insert((line.caller, line.key), record);
    }

    /// No animal is ever removed, so their number marks the state; the epoch sets this file apart
    /// from all others.
    pub(crate) fn version(&self) -> CatalogueVersion {
        CatalogueVersion(u128::from(self.epoch) << 64 | self.pets.len() as u128)
    }

    pub(crate) fn next_pet(&self) -> PetId {
        PetId(self.pets.last_key_value().map_or(1, |(id, _)| id.0 + 1))
    }

    pub(crate) fn next_key(&self) -> KeyId {
        KeyId(self.keys.last_key_value().map_or(1, |(id, _)| id.0 + 1))
    }
}
