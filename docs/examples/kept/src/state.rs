//! What the store holds.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use petstore_domain::{
    ApiKey, CatalogueVersion, IdempotencyId, IdempotencyRecord, KeyRevision, NewPet, Pet, PetId,
    Phase, StoreError, StoreId, StoreState,
};

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// At or above the identifier of every animal; the next one follows it.
    pub(crate) assigned: i64,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    /// Ascending by identifier.
    pub(crate) keys: Vec<ApiKey>,
    /// Above the identifier of every key there ever was.
    pub(crate) next_key_id: i64,
    /// How often keys were changed.
    pub(crate) key_changes: u64,
    pub(crate) handover: StoreState,
    /// Random, so that a version of this store is not one of another store or another run.
    epoch: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pets: BTreeMap::new(),
            assigned: 0,
            records: BTreeMap::new(),
            keys: Vec::new(),
            next_key_id: 1,
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

/// Returns a random number: the standard library has some for its maps only.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

impl State {
    /// Returns the version, or `None` if the store is not open. Animals are only ever added, so their number tells one
    /// state from another.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        let version = CatalogueVersion(u128::from(self.epoch) << 64 | self.pets.len() as u128);
        matches!(self.handover.phase, Phase::Open { .. }).then_some(version)
    }

    /// Returns the revision of the keys: the number of changes tells one state from another.
    pub(crate) fn key_revision(&self) -> KeyRevision {
        KeyRevision(u128::from(self.epoch) << 64 | u128::from(self.key_changes))
    }

    /// Adds an animal under the next identifier.
    pub(crate) fn insert(&mut self, pet: NewPet) -> Result<Pet, StoreError> {
        let next = self.assigned.checked_add(1);
        self.assigned = next.ok_or_else(|| StoreError::unavailable("no identifier is left"))?;
        let pet = pet.with_id(PetId(self.assigned));
        self.pets.insert(pet.id, pet.clone());
        Ok(pet)
    }
}
