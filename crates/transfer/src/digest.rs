//! Digests of animals, range by range.

use std::fmt;

use petstore_domain::{Pet, PetId, PetStatus};
use sha2::{Digest, Sha256};

/// The animals of one range of identifiers: how many, and a digest over all their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeDigest {
    /// The range's first identifier, whether or not there is an animal.
    pub first: PetId,
    /// Its last.
    pub last: PetId,
    /// How many animals there are.
    pub pets: u64,
    /// SHA-256 over the animals, ascending: of each the identifier and the category as 8 bytes
    /// (big-endian), the status, a zero byte, the name, a zero byte.
    pub digest: [u8; 32],
}

impl RangeDigest {
    /// How many identifiers a range has. Ranges begin at 1, 100 001, and so on.
    pub const IDS: i64 = 100_000;
}

impl fmt::Display for RangeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, pets, digest } = self;
        write!(f, "animals {first} to {last}: {pets}, SHA-256 ")?;
        digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Digests animals, added in ascending order, range by range.
#[derive(Default)]
pub(crate) struct Ranges {
    done: Vec<RangeDigest>,
    current: Option<Current>,
}

struct Current {
    number: i64,
    pets: u64,
    hash: Sha256,
}

impl Ranges {
    pub(crate) fn add_all(&mut self, pets: &[Pet]) {
        for pet in pets {
            self.add(pet);
        }
    }

    fn add(&mut self, pet: &Pet) {
        let Pet { id, name, category_id, status } = pet;
        let number = id.0.saturating_sub(1).div_euclid(RangeDigest::IDS);
        if self.current.as_ref().is_none_or(|current| current.number != number) {
            self.close();
        }
        let new = || Current { number, pets: 0, hash: Sha256::new() };
        let Current { pets, hash, .. } = self.current.get_or_insert_with(new);
        *pets += 1;
        hash.update(id.0.to_be_bytes());
        hash.update(category_id.0.to_be_bytes());
        hash.update(status.map_or("", PetStatus::as_str));
        // Neither status nor name can hold this byte, so the fields cannot run into each other.
        hash.update([0]);
        hash.update(name.as_str());
        hash.update([0]);
    }

    pub(crate) fn finish(mut self) -> Vec<RangeDigest> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if let Some(Current { number, pets, hash }) = self.current.take() {
            let before = number.saturating_mul(RangeDigest::IDS);
            self.done.push(RangeDigest {
                first: PetId(before.saturating_add(1)),
                last: PetId(before.saturating_add(RangeDigest::IDS)),
                pets,
                digest: hash.finalize().into(),
            });
        }
    }
}
