//! The availability of an animal (interface, sections 2 and 3).

use std::fmt;

/// The availability of an animal (schema `PetStatus` of the interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PetStatus {
    /// The animal can be bought.
    Available,
    /// The animal is reserved.
    Pending,
    /// The animal is sold.
    Sold,
}

impl PetStatus {
    /// Every status, in the order of the interface.
    pub const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    /// Parses `available`, `pending` or `sold`.
    ///
    /// # Errors
    /// If `text` is anything else, also in another letter case.
    pub fn parse(text: &str) -> Result<Self, InvalidPetStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(InvalidPetStatus)
    }

    /// Returns the word of the status in the interface and in every store.
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
