//! An API key in clear: its form, its check sum, its digest, and the rights that its first characters show.

use std::fmt;

use sha2::{Digest, Sha256};

const RANDOM_CHARS: usize = 32;
const CHECK_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An API key in clear. Shown once, at creation; its `Debug` form hides it.
///
/// A key that the service makes is `pst_`, or `psr_` if it may only read, 32 random base62 characters (190 bits), and 6 base62
/// characters of CRC-32 over all that precedes, so that a typo is found without asking the store.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeySecret(String);

impl ApiKeySecret {
    /// How many characters of a key may be shown, so that people recognise it.
    pub const DISPLAY_CHARS: usize = 8;

    /// Returns a key with all rights, made from 256 bits of the system's random source.
    #[must_use]
    pub fn from_entropy(entropy: &[u8; 32]) -> Self {
        Self::with_rights(entropy, KeyRights::Full)
    }

    /// Returns a key with these rights, made from 256 bits of the system's random source.
    #[must_use]
    pub fn with_rights(entropy: &[u8; 32], rights: KeyRights) -> Self {
        let mut number = *entropy;
        let mut text = String::from(rights.prefix());
        // 62^32 goes 2^65 times into 2^256: no character is likelier than another by more than 2^-65.
        text.extend((0..RANDOM_CHARS).map(|_| char::from(base62(divide_by_62(&mut number)))));
        let check = check_sum(text.as_bytes());
        text.extend(check.map(char::from));
        Self(text)
    }

    /// Returns what a client presents as its key, whatever its form.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the key in clear, for the one moment in which it is shown.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the first [`Self::DISPLAY_CHARS`] characters, or fewer if the key is shorter.
    #[must_use]
    pub fn prefix(&self) -> &str {
        let end = self.0.char_indices().nth(Self::DISPLAY_CHARS).map_or(self.0.len(), |(at, _)| at);
        &self.0[..end]
    }

    /// Returns whether the key has the form that the service makes, check sum included. A store holds only
    /// such keys, so it is not asked for another one.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let Some((checked, check)) = self.0.as_bytes().split_last_chunk() else { return false };
        let prefixes = KeyRights::ALL.map(|rights| rights.prefix().as_bytes());
        let random = prefixes.into_iter().find_map(|prefix| checked.strip_prefix(prefix));
        let Some(random) = random else { return false };
        random.len() == RANDOM_CHARS
            && random.iter().all(u8::is_ascii_alphanumeric)
            && *check == check_sum(checked)
    }

    /// Returns the rights that the key was made with, as its own text says.
    #[must_use]
    pub fn rights(&self) -> KeyRights {
        KeyRights::of_prefix(&self.0)
    }

    /// Returns what a store keeps instead of the key. The key has 190 random bits and cannot be guessed, so a
    /// plain hash is enough.
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

/// The rights of an API key. A store keeps them with the key. They also show in the key's first characters, so
/// that people, and a release that does not know keys that only read, do not take them for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRights {
    /// Everything.
    Full,
    /// Only to read.
    ReadOnly,
}

impl KeyRights {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Full, Self::ReadOnly];

    /// Returns the first characters of a key with these rights.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Full => "pst_",
            Self::ReadOnly => "psr_",
        }
    }

    /// Returns the word for them, in stores and for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read-only",
        }
    }

    /// Returns the rights that [`as_str`](Self::as_str) calls so.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rights| rights.as_str() == word)
    }

    /// Returns the rights of a key that begins so, where nothing else says them. Whatever does not begin as a key
    /// with all rights may only read.
    #[must_use]
    pub fn of_prefix(text: &str) -> Self {
        if text.starts_with(Self::Full.prefix()) { Self::Full } else { Self::ReadOnly }
    }
}

/// SHA-256 of a whole API key. Identifies the key without revealing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest(pub [u8; 32]);

fn check_sum(text: &[u8]) -> [u8; CHECK_CHARS] {
    let mut rest = crc32fast::hash(text);
    let mut chars = [b'0'; CHECK_CHARS];
    for place in chars.iter_mut().rev() {
        *place = base62((rest % 62) as u8);
        rest /= 62;
    }
    chars
}

fn base62(digit: u8) -> u8 {
    BASE62[usize::from(digit)]
}

/// Divides a big-endian number in place; the remainder is below 62.
#[expect(clippy::cast_possible_truncation, reason = "256 * 62 / 62 fits a byte, and so does 61")]
fn divide_by_62(number: &mut [u8; 32]) -> u8 {
    let mut remainder = 0_u16;
    for byte in number {
        let value = remainder << 8 | u16::from(*byte);
        *byte = (value / 62) as u8;
        remainder = value % 62;
    }
    remainder as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ApiKeySecret;
    use crate::KeyRights;

    #[test]
    fn a_key_says_what_it_may_do() {
        for (rights, prefix) in [(KeyRights::Full, "pst_"), (KeyRights::ReadOnly, "psr_")] {
            let key = ApiKeySecret::with_rights(&[7; 32], rights);
            assert!(key.expose().starts_with(prefix) && key.is_well_formed());
            assert_eq!(key.rights(), rights);
        }
        let text = ApiKeySecret::with_rights(&[7; 32], KeyRights::ReadOnly);
        let raised = ApiKeySecret::new(text.expose().replacen("psr_", "pst_", 1));
        assert!(!raised.is_well_formed() && raised.digest() != text.digest());
    }

    #[test]
    fn a_key_has_the_documented_form() {
        let key = ApiKeySecret::from_entropy(&[0xa5; 32]);
        let text = key.expose();
        assert_eq!(text.len(), 42);
        assert!(text.starts_with("pst_"));
        assert_eq!(key.prefix(), &text[..8]);
        assert!(key.is_well_formed());
        assert_eq!(format!("{key:?}"), "ApiKeySecret(hidden)");
    }

    #[test]
    fn a_key_is_its_entropy_in_base62_and_six_digits_of_crc_32() {
        // Computed independently: the lowest 32 digits of the number, the lowest first, then CRC-32.
        let counting: [u8; 32] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let highest_bit: [u8; 32] = std::array::from_fn(|index| u8::from(index == 0) << 7);
        for (entropy, text) in [
            ([0; 32], "pst_000000000000000000000000000000000l12D9"),
            (counting, "pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj0eXusv"),
            (highest_bit, "pst_WuG4ThvXM156xtrd3dfA4OlHl8OmVAaV1ZFnAk"),
            ([255; 32], "pst_1pX8wOr5j2ACunjH7GLL8mWZWHmY1LA12Qw7Oq"),
        ] {
            assert_eq!(ApiKeySecret::from_entropy(&entropy).expose(), text);
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
    fn what_is_not_known_to_have_all_rights_may_only_read() {
        for (text, rights) in [
            ("pst_1234", KeyRights::Full),
            ("psr_1234", KeyRights::ReadOnly),
            ("", KeyRights::ReadOnly),
            ("pst", KeyRights::ReadOnly),
            ("PST_1234", KeyRights::ReadOnly),
            ("psx_1234", KeyRights::ReadOnly),
            (" pst_123", KeyRights::ReadOnly),
        ] {
            assert_eq!(KeyRights::of_prefix(text), rights, "{text:?}");
        }
    }

    #[test]
    fn each_has_a_word_of_its_own() {
        for rights in KeyRights::ALL {
            assert_eq!(KeyRights::parse(rights.as_str()), Some(rights));
        }
        for word in ["", "Full", "read", "read_only", "everything"] {
            assert_eq!(KeyRights::parse(word), None, "{word}");
        }
    }

    proptest! {
        #[test]
        fn one_wrong_character_is_always_found(entropy: [u8; 32], at in 4_usize..42, byte in b'0'..=b'z') {
            let good = ApiKeySecret::from_entropy(&entropy);
            prop_assert!(good.is_well_formed());
            let mut bytes = good.expose().as_bytes().to_vec();
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            let bad = ApiKeySecret::new(String::from_utf8(bytes).unwrap());
            prop_assert!(!bad.is_well_formed());
            prop_assert_ne!(bad.digest(), good.digest());
        }
    }
}
