//! The state of the store.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use petstore_domain::{
    ApiKey, CatalogueVersion, IdempotencyId, IdempotencyRecord, KeyId, KeyRevision, NewPet, Pet,
    PetId, Phase, StoreError, StoreId, StoreState,
};

/// Everything that the store holds.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// The number of changes of animals.
    pub(crate) pet_changes: u64,
    /// The highest identifier of an animal, ever assigned or stored; 0 if there was none.
    pub(crate) highest_pet: i64,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// The highest identifier of a key, ever assigned or stored; 0 if there was none.
    pub(crate) highest_key: i64,
    /// The number of changes of keys.
    pub(crate) key_changes: u64,
    pub(crate) handover: StoreState,
    /// A random number, so that no other store and no other run has the same versions.
    epoch: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pets: BTreeMap::new(),
            pet_changes: 0,
            highest_pet: 0,
            records: BTreeMap::new(),
            keys: BTreeMap::new(),
            highest_key: 0,
            key_changes: 0,
            handover: StoreState {
                id: StoreId((u128::from(random()) << 64 | u128::from(random())).to_be_bytes()),
                revision: 0,
                rewrites: 0,
                phase: Phase::Open { from: None },
            },
            epoch: random(),
        }
    }
}

/// Returns a random number from the seeds of the standard library's hash maps.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

impl State {
    /// Returns the version, which contains the number of changes; `None` if the store is not open.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        let version = CatalogueVersion(u128::from(self.epoch) << 64 | u128::from(self.pet_changes));
        self.handover.phase.is_open().then_some(version)
    }

    /// Returns the revision of the keys, which contains the number of their changes.
    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(u128::from(self.epoch) << 64 | u128::from(self.key_changes))
    }

    /// Adds an animal under the next identifier.
    pub(crate) fn insert(&mut self, pet: NewPet) -> Result<Pet, StoreError> {
        let next = self.highest_pet.checked_add(1);
        self.highest_pet = next.ok_or_else(|| StoreError::refused("no identifier is left"))?;
        let pet = pet.with_id(PetId(self.highest_pet));
        self.pets.insert(pet.id, pet.clone());
        self.pet_changes += 1;
        Ok(pet)
    }
}
