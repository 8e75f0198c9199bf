//! Random commands for a store.

use fastrand::Rng;
use petstore_domain::{NewPet, PetStatus};

use crate::{
    random::one_of,
    samples::{self, STATUSES},
};

/// One command. The model maps its numbers to identifiers.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Add { pet: NewPet, key: Option<&'static str> },
    Purge { age: i64 },
    AddKey { seed: u16, name: &'static str, lifetime: Option<i64> },
    EndKey { number: u32, expires: Option<i64>, revoked: Option<i64> },
    RemoveKey { number: u32 },
    NoteUse { number: u32, ago: i64 },
    Compare { limit: u8, status: Option<PetStatus> },
}

const KEY_NAMES: [&str; 4] = ["web", "Web", "shop", "x"];
const IDEMPOTENCY_KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Times that often lie exactly at a boundary.
const SPANS: [i64; 4] = [0, 1, 2, 5];

impl Command {
    /// Returns the command of the step `step`. No two steps create the same API key.
    pub(crate) fn choose(random: &mut Rng, step: u16) -> Self {
        match random.u32(..14) {
            0..=5 => Self::Add {
                pet: one_of(random, &samples::few()),
                key: (random.u32(..3) > 0).then(|| one_of(random, &IDEMPOTENCY_KEYS)),
            },
            6 => Self::Purge { age: one_of(random, &SPANS) },
            7 | 8 => Self::AddKey {
                seed: step,
                name: one_of(random, &KEY_NAMES),
                lifetime: (random.u32(..2) > 0).then(|| one_of(random, &SPANS) + 1),
            },
            9 => Self::EndKey {
                number: random.u32(..1000),
                expires: (random.u32(..2) > 0).then(|| one_of(random, &SPANS)),
                revoked: (random.u32(..2) > 0).then(|| one_of(random, &SPANS)),
            },
            10 => Self::RemoveKey { number: random.u32(..1000) },
            11 => Self::NoteUse { number: random.u32(..1000), ago: one_of(random, &SPANS) },
            _ => Self::Compare {
                limit: one_of(random, &[1, 2, 3, 20, 100]),
                status: one_of(random, &STATUSES),
            },
        }
    }
}
