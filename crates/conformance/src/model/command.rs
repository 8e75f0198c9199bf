//! Random commands for a store.

use crate::{
    random::Random,
    samples::{self, STATUSES},
};
use petstore_domain::{NewPet, PetStatus};

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
    pub(crate) fn choose(random: &mut Random, step: u16) -> Self {
        match random.below(14) {
            0..=5 => Self::Add {
                pet: random.one_of(&samples::few()),
                key: (random.below(3) > 0).then(|| random.one_of(&IDEMPOTENCY_KEYS)),
            },
            6 => Self::Purge { age: random.one_of(&SPANS) },
            7 | 8 => Self::AddKey {
                seed: step,
                name: random.one_of(&KEY_NAMES),
                lifetime: (random.below(2) > 0).then(|| random.one_of(&SPANS) + 1),
            },
            9 => Self::EndKey {
                number: random.below(1000),
                expires: (random.below(2) > 0).then(|| random.one_of(&SPANS)),
                revoked: (random.below(2) > 0).then(|| random.one_of(&SPANS)),
            },
            10 => Self::RemoveKey { number: random.below(1000) },
            11 => Self::NoteUse { number: random.below(1000), ago: random.one_of(&SPANS) },
            _ => Self::Compare {
                limit: random.one_of(&[1, 2, 3, 20, 100]),
                status: random.one_of(&STATUSES),
            },
        }
    }
}
