//! Digests of animals, range by range.

use std::{collections::BTreeMap, fmt};

use petstore_domain::{Pet, PetId, PetStatus};
use sha2::{Digest, Sha256};

/// The number of animals in a range of identifiers, and a digest of all their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeDigest {
    /// The first identifier of the range. An animal need not have this identifier.
    pub first: PetId,
    /// The last identifier of the range.
    pub last: PetId,
    /// The number of animals in the range.
    pub pets: u64,
    /// SHA-256 over the animals in ascending order. Each animal contributes its identifier and category (8 bytes each,
    /// big-endian), its status, a zero byte, its name, and a zero byte.
    pub digest: [u8; 32],
}

impl RangeDigest {
    /// The number of identifiers in a range. Ranges begin at 1, 100 001, and so on.
    pub const IDS: i64 = 100_000;
}

impl fmt::Display for RangeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, pets, digest } = self;
        write!(f, "animals {first} to {last}: {pets}, SHA-256 ")?;
        digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Digests animals, range by range.
#[derive(Default)]
pub(crate) struct Ranges(BTreeMap<i64, (u64, Sha256)>);

impl Ranges {
    /// Adds an animal. Animals are added in ascending order.
    pub(crate) fn add(&mut self, Pet { id, name, category_id, status }: &Pet) {
        let number = id.0.saturating_sub(1).div_euclid(RangeDigest::IDS);
        let (pets, hash) = self.0.entry(number).or_default();
        *pets += 1;
        hash.update(id.0.to_be_bytes());
        hash.update(category_id.0.to_be_bytes());
        hash.update(status.map_or("", PetStatus::as_str));
        // A zero byte separates the fields, because neither a status nor a name contains it.
        hash.update([0]);
        hash.update(name.as_str());
        hash.update([0]);
    }

    pub(crate) fn finish(self) -> Vec<RangeDigest> {
        let finish = |(number, (pets, hash)): (i64, (u64, Sha256))| {
            let before = number.saturating_mul(RangeDigest::IDS);
            RangeDigest {
                first: PetId(before.saturating_add(1)),
                last: PetId(before.saturating_add(RangeDigest::IDS)),
                pets,
                digest: hash.finalize().into(),
            }
        };
        self.0.into_iter().map(finish).collect()
    }
}
