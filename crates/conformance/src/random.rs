//! Random choices that a seed repeats.

use std::hash::{BuildHasher, RandomState};

/// The environment variable with the seed of a run. A broken promise prints its seed.
pub const SEED_VARIABLE: &str = "PETSTORE_CONFORMANCE_SEED";

/// A generator of pseudo-random numbers (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let scaled = ((self.next() >> 32) * u64::from(bound)) >> 32;
        u32::try_from(scaled).unwrap_or(0)
    }

    /// Returns a random element of a slice that is not empty.
    pub(crate) fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        let count = u32::try_from(choices.len()).unwrap_or(u32::MAX);
        choices[self.below(count) as usize].clone()
    }
}

/// Returns the seed that the environment names, or a new one.
pub(crate) fn seed() -> u64 {
    let named = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
    named.unwrap_or_else(|| RandomState::new().hash_one(()))
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_repeats_its_numbers_and_all_are_below_the_bound() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        let numbers: Vec<u32> = (0..1000).map(|_| one.below(10)).collect();
        assert!(numbers.iter().all(|number| *number == other.below(10) && *number < 10));
        assert!((0..10).all(|number| numbers.contains(&number)));
    }
}
