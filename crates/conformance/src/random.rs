//! Random choices that a seed repeats.

use std::hash::{BuildHasher, RandomState};

use fastrand::Rng;

/// The environment variable with the seed of a run. A broken promise prints its seed.
pub const SEED_VARIABLE: &str = "PETSTORE_CONFORMANCE_SEED";

/// Returns a random element of a slice that is not empty.
pub(crate) fn one_of<T: Clone>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())].clone()
}

/// Returns the seed in the environment variable, or a new seed.
pub(crate) fn seed() -> u64 {
    let named = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
    named.unwrap_or_else(|| RandomState::new().hash_one(()))
}
