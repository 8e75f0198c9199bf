//! The content of the store, with its versions and its [`StoreState`].

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    ops::Bound,
};

use petstore_domain::{
    ApiKey, CatalogueVersion, HighestIds, IdempotencyId, IdempotencyRecord, KeyId, KeyRevision,
    NewPet, Pet, PetId, Phase, StoreError, StoreId, StoreState,
};

/// Everything that the store holds.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// A random number, plus the number of changes of animals. No other store and no other run has the same version.
    pub(crate) version: CatalogueVersion,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// A random number, plus the number of changes of keys.
    pub(crate) key_revision: KeyRevision,
    /// The highest identifiers ever assigned or stored.
    pub(crate) highest: HighestIds,
    pub(crate) handover: StoreState,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pets: BTreeMap::new(),
            version: CatalogueVersion(u128::from(random()) << 64),
            records: BTreeMap::new(),
            keys: BTreeMap::new(),
            key_revision: KeyRevision(u128::from(random()) << 64),
            highest: HighestIds::default(),
            handover: StoreState {
                id: StoreId((u128::from(random()) << 64 | u128::from(random())).to_be_bytes()),
                revision: 0,
                rewrites: 0,
                phase: Phase::Open { from: None },
            },
        }
    }
}

/// Returns a random number from the seeds of the standard library's hash maps.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

impl State {
    /// Returns the version; `None` if the store is not open.
    pub(crate) fn version(&self) -> Option<CatalogueVersion> {
        self.handover.phase.is_open().then_some(self.version)
    }

    /// Returns the animals after `after`.
    pub(crate) fn pets_after(&self, after: Option<PetId>) -> impl Iterator<Item = &Pet> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.pets.range((after, Bound::Unbounded)).map(|(_, pet)| pet)
    }

    /// Adds an animal under the next identifier.
    pub(crate) fn insert(&mut self, pet: NewPet) -> Result<Pet, StoreError> {
        let next = self.highest.pet.map_or(0, |id| id.0).checked_add(1);
        let id = next.ok_or_else(|| StoreError::refused("no identifier is left"))?;
        let pet = pet.with_id(PetId(id));
        self.highest.pet = Some(pet.id);
        self.pets.insert(pet.id, pet.clone());
        self.version.0 += 1;
        Ok(pet)
    }
}
