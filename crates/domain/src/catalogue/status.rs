//! The availability of an animal (interface, sections 2 and 3).

use std::fmt;

/// Availability of an animal (schema `PetStatus` of the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PetStatus {
    /// Can be bought.
    Available,
    /// Reserved.
    Pending,
    /// Gone.
    Sold,
}

impl PetStatus {
    /// Every status, in the order of the interface.
    pub const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    /// Reads exactly one of `available`, `pending`, `sold`.
    ///
    /// # Errors
    /// Any other text, another letter case included.
    pub fn parse(text: &str) -> Result<Self, InvalidPetStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(InvalidPetStatus)
    }

    /// Returns the word that the interface, and every store, uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Pending => "pending",
            Self::Sold => "sold",
        }
    }
}

impl fmt::Display for PetStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not one of the three statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of available, pending, sold")]
pub struct InvalidPetStatus;

#[cfg(test)]
mod tests {
    use super::PetStatus;

    #[test]
    fn a_status_is_exactly_one_of_three_words() {
        for status in PetStatus::ALL {
            assert_eq!(PetStatus::parse(status.as_str()), Ok(status));
            assert_eq!(status.to_string(), status.as_str());
        }
        for text in ["", "Available", "SOLD", "sold ", "gone", "available,sold", "null"] {
            assert!(PetStatus::parse(text).is_err(), "{text:?}");
        }
    }
}
