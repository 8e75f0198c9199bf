//! What the store holds.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
};

use petstore_domain::{
    ApiKey, CatalogueVersion, Fingerprint, IdempotencyKey, KeyDigest, Pet, PetId, Timestamp,
    Unavailable,
};

#[derive(Clone)]
pub(crate) struct State {
    /// By identifier; the next one follows the highest, for none is ever removed.
    pub(crate) pets: BTreeMap<PetId, Pet>,
    pub(crate) attempts: HashMap<(KeyDigest, IdempotencyKey), Attempt>,
    /// Ascending by identifier; the next one follows the highest.
    pub(crate) keys: Vec<ApiKey>,
    /// Random, so that a mark of this store is not one of another store or another run.
    epoch: u64,
}

/// The record of an addition that had an idempotency key.
#[derive(Clone, PartialEq)]
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

/// The identifier that follows the highest: restored ones may leave gaps, even none behind them.
pub(crate) fn next_id(highest: Option<i64>) -> Result<i64, Unavailable> {
    let next = highest.unwrap_or(0).max(0).checked_add(1);
    next.ok_or_else(|| Unavailable::new("no identifier is left"))
}
