//! What the store holds.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
};

use petstore_domain::{
    ApiKey, CatalogueVersion, Fingerprint, IdempotencyKey, KeyDigest, Pet, PetId, Timestamp,
};

pub(crate) struct State {
    /// By identifier; the next one is the number of animals plus one, for none is ever removed.
    pub(crate) pets: BTreeMap<PetId, Pet>,
    pub(crate) attempts: HashMap<(KeyDigest, IdempotencyKey), Attempt>,
    /// Ascending by identifier; the next one is the number of keys plus one.
    pub(crate) keys: Vec<ApiKey>,
    /// Random, so that a mark of this store is not one of another store or another run.
    epoch: u64,
}

/// The record of an addition that had an idempotency key.
pub(crate) struct Attempt {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) pet: Pet,
    pub(crate) at: Timestamp,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pets: BTreeMap::new(),
            attempts: HashMap::new(),
            keys: Vec::new(),
            epoch: RandomState::new().hash_one(()),
        }
    }
}

impl State {
    /// Animals are only ever added, so their number marks the state.
    pub(crate) fn version(&self) -> CatalogueVersion {
        CatalogueVersion(u128::from(self.epoch) << 64 | self.pets.len() as u128)
    }
}

/// The identifier behind `count` others. A count of things in memory fits an `i64`.
pub(crate) fn next_id(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_add(1)
}
