//! What an API key may do.

/// What an API key may do. It is part of the key itself, as its first characters, and so of the prefix that
/// a store keeps: it never changes, and every store keeps it without a column of its own. A petstore
/// that does not know keys that only read refuses them, and does not take them for others.
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

    /// The first characters of a key with these rights.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Full => "pst_",
            Self::ReadOnly => "psr_",
        }
    }

    /// The rights of a key of which `text` is the beginning, or all.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        if text.starts_with(Self::ReadOnly.prefix()) { Self::ReadOnly } else { Self::Full }
    }
}
