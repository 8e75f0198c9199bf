//! Idempotency keys: a request that is sent several times adds one animal.

use std::{array, fmt, time::Duration};

use sha2::{Digest, Sha256};

use crate::{
    access::secret::KeyDigest,
    catalogue::pet::{NewPet, PetId},
    timestamp::Timestamp,
};

/// A key that a client chooses for one addition: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The longest key, in characters.
    pub const MAX_CHARS: usize = 255;
    /// The time for which a record of a key is valid.
    pub const LIFETIME: Duration = Duration::from_hours(24);

    /// Takes `text` as it is.
    ///
    /// # Errors
    /// If `text` is empty, has more than 255 characters, or a character that is not visible ASCII (U+0021..=U+007E).
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidIdempotencyKey> {
        let text = text.into();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        let well_formed = visible && (1..=Self::MAX_CHARS).contains(&text.len());
        if well_formed { Ok(Self(text)) } else { Err(InvalidIdempotencyKey) }
    }

    /// Returns the expiry cutoff at the time `now`: a record made at the cutoff or before has expired.
    pub fn cutoff(now: Timestamp) -> Timestamp {
        now.minus(Self::LIFETIME)
    }

    /// Returns the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {} visible ASCII characters", IdempotencyKey::MAX_CHARS)]
pub struct InvalidIdempotencyKey;

/// An idempotency key and its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The digest of the caller's API key. Different callers may use the same idempotency key.
    pub caller: KeyDigest,
    /// The key that the client chose.
    pub key: IdempotencyKey,
}

impl Idempotency {
    /// Returns the id that a store keeps instead of the caller and the key.
    #[must_use]
    pub fn id(&self) -> IdempotencyId {
        IdempotencyId::new(&self.caller, self.key.as_str().as_bytes())
    }
}

/// Identifies an idempotency key of one caller: the first 128 bits of SHA-256 over the caller's digest
/// and the key's characters.
///
/// The key itself is not stored, because a client may send a secret by mistake. 128 bits are enough: a collision takes
/// 2^64 tries to find, and only mixes up additions of the caller who finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyId(pub [u8; 16]);

impl IdempotencyId {
    fn new(caller: &KeyDigest, key: &[u8]) -> Self {
        // A caller's digest has a fixed length, so no two pairs of caller and key have the same bytes.
        let hash = Sha256::new().chain_update(caller.0).chain_update(key).finalize();
        Self(array::from_fn(|index| hash[index]))
    }
}

impl fmt::Display for IdempotencyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// A request to add an animal or a batch of animals at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyRequest {
    /// Identifies the caller and the key.
    pub id: IdempotencyId,
    /// Identifies the content of the animal or of the batch.
    pub fingerprint: Fingerprint,
    /// The time of the request.
    pub at: Timestamp,
    /// The expiry cutoff: a record made at or before this time has expired.
    pub cutoff: Timestamp,
}

/// The decision of a store about a request to add an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdempotencyDecision {
    /// Store the animal and the record of the request. The record replaces an expired record.
    Create,
    /// Store nothing, and return the animal of the request under this identifier.
    Replay(PetId),
    /// Store nothing: the key was used for another animal.
    Reused,
}

impl IdempotencyRequest {
    /// Makes a request at the time `at`.
    #[must_use]
    pub fn new(id: IdempotencyId, pet: &NewPet, at: Timestamp) -> Self {
        Self { id, fingerprint: Fingerprint::new(pet), at, cutoff: IdempotencyKey::cutoff(at) }
    }

    /// Makes a request to add a batch of animals at most once in 24 hours. `digest` identifies the animals and their
    /// place in a file.
    #[must_use]
    pub fn of_batch(digest: [u8; 32], at: Timestamp) -> Self {
        // No API key has this digest, so no client's request has the id of a batch.
        let id = IdempotencyId::new(&KeyDigest([0; 32]), &digest);
        Self { id, fingerprint: Fingerprint(digest), at, cutoff: IdempotencyKey::cutoff(at) }
    }

    /// Decides what a store does about the request, by the `stored` record with the id of the request.
    ///
    /// Equal fingerprints mean equal animals. So a replay returns the animal of the request, and reads no row of the
    /// catalogue.
    #[must_use]
    pub fn decide(&self, stored: Option<&IdempotencyRecord>) -> IdempotencyDecision {
        match stored.filter(|record| record.at > self.cutoff) {
            None => IdempotencyDecision::Create,
            Some(record) if record.fingerprint == self.fingerprint => {
                IdempotencyDecision::Replay(record.pet)
            }
            Some(_) => IdempotencyDecision::Reused,
        }
    }

    /// Returns the record of a request that has created `pet`.
    #[must_use]
    pub fn into_record(self, pet: PetId) -> IdempotencyRecord {
        let Self { id, fingerprint, at, cutoff: _ } = self;
        IdempotencyRecord { id, fingerprint, pet, at }
    }
}

/// A stored idempotency record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Identifies the caller and the key.
    pub id: IdempotencyId,
    /// Identifies the content of the added animal or batch.
    pub fingerprint: Fingerprint,
    /// The identifier of the added animal; of a batch, the identifier of its first animal.
    pub pet: PetId,
    /// The time of the addition.
    pub at: Timestamp,
}

/// Identifies the content of an animal to be added: SHA-256 over all its fields. The fingerprint of a batch is the
/// digest that [`IdempotencyRequest::of_batch`] gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Makes the fingerprint of `pet`. Two animals share a fingerprint only if all their fields are equal.
    ///
    /// Records outlast an upgrade, so the fingerprint of an animal must never change. A new optional field is appended
    /// after the name, and only if it has a value: the byte 0, a byte that stands for the field, and the value.
    #[must_use]
    pub fn new(pet: &NewPet) -> Self {
        let NewPet { name, category_id, status } = pet;
        let status = status.map_or("", |status| status.as_str());
        let mut hash = Sha256::new();
        hash.update(category_id.0.to_be_bytes());
        hash.update(status);
        // Neither a status nor a name contains this byte, so two different animals never give the same bytes.
        hash.update([0]);
        hash.update(name.as_str());
        Self(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, Idempotency, IdempotencyId, IdempotencyKey};
    use crate::{KeyDigest, NewPet, PetStatus, mocks::new_pet};

    #[test]
    fn a_key_is_visible_ascii_and_kept_unchanged() {
        let longest = "k".repeat(255);
        for text in ["a", "8e03978e-40d5-43dd-bc93-6894a57f9324", "!~", "a\"b", "\"a\"", &longest] {
            assert_eq!(IdempotencyKey::parse(text).unwrap().as_str(), text);
        }
        let too_long = "k".repeat(256);
        for text in ["", "a b", "a\tb", "é", "a\u{7f}", &too_long] {
            let rule = IdempotencyKey::parse(text).unwrap_err().to_string();
            assert_eq!(rule, "must have 1 to 255 visible ASCII characters", "{text:?}");
        }
    }

    #[test]
    fn an_id_is_half_of_the_digest_of_caller_and_key() {
        // printf '\1%.0s' {1..32} | cat - <(printf once) | sha256sum
        let key = IdempotencyKey::parse("once").unwrap();
        let once = Idempotency { caller: KeyDigest([1; 32]), key }.id();
        assert_eq!(once.to_string(), "073c92907c9d5c249413797cee92c9a8");
        assert_eq!(IdempotencyId([1; 16]).to_string(), "01".repeat(16));
    }

    #[test]
    fn a_fingerprint_is_the_same_in_all_releases() {
        let rex = new_pet("Rex");
        let sold = NewPet { status: Some(PetStatus::Sold), ..rex.clone() };
        // printf '\0\0\0\0\0\0\0\1\0Rex' | sha256sum, and with 'sold' before the last zero
        assert_eq!(Fingerprint::new(&rex).0[..4], [0x33, 0x88, 0x60, 0xb6]);
        assert_eq!(Fingerprint::new(&sold).0[..4], [0x17, 0x7f, 0xf7, 0xae]);
    }
}
