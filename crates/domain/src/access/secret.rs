//! An API key in clear text: its form, its checksum, its digest, and the rights that its prefix shows.

use std::fmt;

use sha2::{Digest, Sha256};

const RANDOM_CHARS: usize = 32;
const CHECK_CHARS: usize = 6;
/// The number of characters of a key that may be shown, so that people recognize the key.
const DISPLAY_CHARS: usize = 8;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An API key in clear text. The key is shown once, at creation. Its `Debug` form hides the text.
///
/// A key that the service makes has three parts:
/// - the prefix `pst_`, or `psr_` for a key that may only read
/// - 32 random base62 characters (190 bits)
/// - the CRC-32 of both as 6 base62 characters, so that a typo is found without a call to the store
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct ApiKeySecret(String);

impl ApiKeySecret {
    /// Makes a key with full rights from 256 bits of the system's random source.
    pub fn from_entropy(entropy: &[u8; 32]) -> Self {
        Self::with_rights(entropy, KeyRights::Full)
    }

    /// Makes a key with these rights from 256 bits of the system's random source.
    pub fn with_rights(entropy: &[u8; 32], rights: KeyRights) -> Self {
        let mut number = *entropy;
        let mut text = String::from(rights.prefix());
        // 2^256 is more than 2^65 times 62^32, so no character is likelier than another by more than 2^-65.
        text.extend((0..RANDOM_CHARS).map(|_| char::from(BASE62[divide_by_62(&mut number)])));
        let check = checksum(text.as_bytes());
        text.extend(check.map(char::from));
        Self(text)
    }

    /// Takes the text that a client presents as its key, in any form.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the key in clear text, to show it once.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the first 8 characters, or fewer if the key is shorter. These characters may be shown, so that people
    /// recognize the key.
    #[must_use]
    pub fn prefix(&self) -> &str {
        let end = self.0.char_indices().nth(DISPLAY_CHARS).map_or(self.0.len(), |(at, _)| at);
        &self.0[..end]
    }

    /// Returns whether the key has the form that the service makes, including the checksum. A key of another form is
    /// refused, unless it is the service key.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let Some((checked, check)) = self.0.as_bytes().split_last_chunk() else { return false };
        let prefix = self.rights().prefix().as_bytes();
        let Some(random) = checked.strip_prefix(prefix) else { return false };
        random.len() == RANDOM_CHARS
            && random.iter().all(u8::is_ascii_alphanumeric)
            && *check == checksum(checked)
    }

    /// Returns the rights that the key's prefix shows: read-only for every prefix except the prefix of full rights.
    #[must_use]
    pub fn rights(&self) -> KeyRights {
        let is_full = self.0.starts_with(KeyRights::Full.prefix());
        if is_full { KeyRights::Full } else { KeyRights::ReadOnly }
    }

    /// Returns the digest that a store keeps instead of the key. A plain hash is enough: nobody can guess the key's 190
    /// random bits.
    #[must_use]
    pub fn digest(&self) -> KeyDigest {
        KeyDigest(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKeySecret(hidden)")
    }
}

/// The rights of an API key. A store keeps the rights with the key. The key's prefix also shows the rights, for people
/// and for old releases, which know no rights and refuse the prefix `psr_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRights {
    /// Reads and writes.
    Full,
    /// Only reads.
    ReadOnly,
}

impl KeyRights {
    /// All rights.
    pub const ALL: [Self; 2] = [Self::Full, Self::ReadOnly];

    /// Returns the prefix of a key with these rights.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Full => "pst_",
            Self::ReadOnly => "psr_",
        }
    }

    /// Returns the word that stores and people use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read-only",
        }
    }

    /// Parses a word of [`as_str`](Self::as_str).
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rights| rights.as_str() == word)
    }
}

/// SHA-256 of a whole API key. Identifies the key without revealing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest(pub [u8; 32]);

fn checksum(text: &[u8]) -> [u8; CHECK_CHARS] {
    let number = crc32fast::hash(text);
    [5, 4, 3, 2, 1, 0].map(|place| BASE62[(number / 62_u32.pow(place) % 62) as usize])
}

/// Divides a big-endian number by 62 in place, and returns the remainder.
#[expect(clippy::cast_possible_truncation, reason = "`value` is below 256 * 62")]
fn divide_by_62(number: &mut [u8; 32]) -> usize {
    number.iter_mut().fold(0, |remainder, byte| {
        let value = remainder << 8 | usize::from(*byte);
        *byte = (value / 62) as u8;
        value % 62
    })
}

#[cfg(test)]
mod tests {
    use super::{ApiKeySecret, RANDOM_CHARS, checksum};
    use crate::KeyRights;

    #[test]
    fn a_key_shows_its_rights() {
        for (rights, prefix) in [(KeyRights::Full, "pst_"), (KeyRights::ReadOnly, "psr_")] {
            let key = ApiKeySecret::with_rights(&[7; 32], rights);
            assert!(key.expose().starts_with(prefix) && key.is_well_formed());
            assert_eq!(key.rights(), rights);
        }
        let text = ApiKeySecret::with_rights(&[7; 32], KeyRights::ReadOnly);
        let raised = ApiKeySecret::new(text.expose().replacen("psr_", "pst_", 1));
        assert!(!raised.is_well_formed() && raised.digest() != text.digest());
        for text in ["", "pst", "PST_1234", "psx_1234", " pst_123"] {
            assert_eq!(ApiKeySecret::new(text).rights(), KeyRights::ReadOnly, "{text:?}");
        }
    }

    #[test]
    fn a_text_of_another_form_is_refused_in_spite_of_a_valid_checksum() {
        let random = "a".repeat(RANDOM_CHARS);
        for (prefix, random, is_well_formed) in [
            ("pst_", random.clone(), true),
            ("pst_", random.replacen('a', "aa", 1), false),
            ("pst_", random.replacen('a', "", 1), false),
            ("pst_", random.replacen('a', "-", 1), false),
            ("pet_", random, false),
        ] {
            let text = format!("{prefix}{random}");
            let check = String::from_utf8(checksum(text.as_bytes()).to_vec()).unwrap();
            let key = ApiKeySecret::new(format!("{text}{check}"));
            assert_eq!(key.is_well_formed(), is_well_formed, "{text}");
        }
    }

    #[test]
    fn a_key_has_its_entropy_in_base62_and_six_digits_of_crc_32() {
        // Computed independently: the lowest 32 digits of the number, the lowest first, then CRC-32.
        let counting: [u8; 32] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let highest_bit: [u8; 32] = std::array::from_fn(|index| u8::from(index == 0) << 7);
        for (entropy, text) in [
            ([0; 32], "pst_000000000000000000000000000000000l12D9"),
            (counting, "pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj0eXusv"),
            (highest_bit, "pst_WuG4ThvXM156xtrd3dfA4OlHl8OmVAaV1ZFnAk"),
            ([255; 32], "pst_1pX8wOr5j2ACunjH7GLL8mWZWHmY1LA12Qw7Oq"),
        ] {
            let key = ApiKeySecret::from_entropy(&entropy);
            assert_eq!((key.expose(), key.prefix()), (text, &text[..8]));
            assert_eq!(format!("{key:?}"), "ApiKeySecret(hidden)");
        }
    }

    #[test]
    fn a_digest_is_sha_256_of_the_whole_key() {
        let key = ApiKeySecret::new("pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj0eXusv");
        // Computed independently.
        assert_eq!(key.digest().0[..4], [0xca, 0x78, 0x7a, 0x8c]);
    }

    #[test]
    fn other_forms_are_not_well_formed() {
        for text in
            ["", "pst_", "secret-of-any-form-12345", "pst_é", &"é".repeat(21), &"0".repeat(42)]
        {
            let key = ApiKeySecret::new(text);
            assert!(!key.is_well_formed(), "{text:?}");
            assert!(key.prefix().chars().count() <= 8);
        }
    }

    #[test]
    fn all_rights_have_their_own_words() {
        for rights in KeyRights::ALL {
            assert_eq!(KeyRights::parse(rights.as_str()), Some(rights));
        }
        for word in ["", "Full", "read", "read_only", "everything"] {
            assert_eq!(KeyRights::parse(word), None, "{word}");
        }
    }
}
