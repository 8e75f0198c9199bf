//! Adding an animal at most once, however often the request is sent.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{KeyDigest, NewPet, Timestamp};

/// A key that a client makes up for one intended addition: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The longest key, in characters.
    pub const MAX_CHARS: usize = 255;
    /// How long a key stands for its animal.
    pub const LIFETIME: Duration = Duration::from_hours(24);

    /// Reads a key, bare or between double quotes: `abc` and `"abc"` are the same key.
    ///
    /// # Errors
    /// No character, more than 255, one that is not visible ASCII (U+0021..=U+007E), or one lone
    /// quote at either end.
    pub fn parse(text: &str) -> Result<Self, InvalidIdempotencyKey> {
        let bare = match (text.strip_prefix('"'), text.strip_suffix('"')) {
            (None, None) => text,
            (Some(rest), Some(_)) => rest.strip_suffix('"').ok_or(InvalidIdempotencyKey)?,
            _ => return Err(InvalidIdempotencyKey),
        };
        let visible = bare.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=Self::MAX_CHARS).contains(&bare.len()) {
            Ok(Self(bare.to_owned()))
        } else {
            Err(InvalidIdempotencyKey)
        }
    }

    /// The key without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have 1 to {} visible ASCII characters, bare or between double quotes",
    IdempotencyKey::MAX_CHARS
)]
pub struct InvalidIdempotencyKey;

/// Who wants an addition to happen once, and under which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller's API key: the same idempotency key from another caller is another one.
    pub caller: KeyDigest,
    /// The key that the client made up.
    pub key: IdempotencyKey,
}

/// What a store needs to decide whether an addition is a repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyAttempt {
    /// Whose key it is, and the key.
    pub idempotency: Idempotency,
    /// Of the animal to be added: a repeat has the same one.
    pub fingerprint: Fingerprint,
    /// The time of this attempt, kept with the record if it becomes one.
    pub at: Timestamp,
    /// A record from this moment or before no longer counts.
    pub expired: Timestamp,
}

impl IdempotencyAttempt {
    /// An attempt at the time `at`: records of the last 24 hours count.
    #[must_use]
    pub fn new(idempotency: Idempotency, pet: &NewPet, at: Timestamp) -> Self {
        let fingerprint = Fingerprint::of(pet);
        Self { idempotency, fingerprint, at, expired: at.minus(IdempotencyKey::LIFETIME) }
    }
}

/// Tells one animal to be added from another: SHA-256 over all its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of `pet`. Two animals have the same one only if every field is equal.
    #[must_use]
    pub fn of(pet: &NewPet) -> Self {
        let NewPet { name, category_id, status } = pet;
        let status = status.map_or("", |status| status.as_str());
        let mut hash = Sha256::new();
        hash.update(category_id.0.to_be_bytes());
        hash.update(status);
        // Neither status nor name can hold this byte, so the fields cannot run into each other.
        hash.update([0]);
        hash.update(name.as_str());
        Self(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, IdempotencyKey};
    use crate::{CategoryId, NewPet, PetName, PetStatus};

    #[test]
    fn a_key_is_visible_ascii_bare_or_quoted() {
        let longest = "k".repeat(255);
        let quoted = format!("\"{longest}\"");
        let table = [
            ("a", "a"),
            ("\"a\"", "a"),
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
            ("!~", "!~"),
            ("a\"b", "a\"b"),
            (&longest, &longest),
            (&quoted, &longest),
        ];
        for (text, key) in table {
            assert_eq!(IdempotencyKey::parse(text).unwrap().as_str(), key, "{text:?}");
        }
        let too_long = "k".repeat(256);
        for text in ["", "\"\"", "\"", "\"a", "a\"", "a b", "a\tb", "é", "a\u{7f}", &too_long] {
            assert!(IdempotencyKey::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_field_of_an_animal_shows_in_its_fingerprint() {
        let pet = |name, category, status| NewPet {
            name: PetName::parse(name).unwrap(),
            category_id: CategoryId(category),
            status,
        };
        let pets = [
            pet("Rex", 1, None),
            pet("rex", 1, None),
            pet("Rex", 2, None),
            pet("Rex", 1, Some(PetStatus::Sold)),
            pet("Rex", 1, Some(PetStatus::Pending)),
            pet("soldRex", 1, None),
        ];
        for (i, one) in pets.iter().enumerate() {
            for (j, other) in pets.iter().enumerate() {
                assert_eq!(Fingerprint::of(one) == Fingerprint::of(other), i == j, "{i} {j}");
            }
        }
    }
}
