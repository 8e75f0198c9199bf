//! The animal: its identifiers, its status and its two shapes (interface, sections 2 and 3).

use std::fmt;

use crate::{PetName, plain_integer};

/// An animal of the catalogue, as the service returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pet {
    /// Assigned by the store on creation, never by a client.
    pub id: PetId,
    /// As sent, byte for byte.
    pub name: PetName,
    /// The category that the animal belongs to; categories are not part of this service.
    pub category_id: CategoryId,
    /// `None` when the client gave none: no default is made up.
    pub status: Option<PetStatus>,
}

/// An animal to be added: a [`Pet`] that has no identifier yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPet {
    /// See [`Pet::name`].
    pub name: PetName,
    /// See [`Pet::category_id`].
    pub category_id: CategoryId,
    /// See [`Pet::status`].
    pub status: Option<PetStatus>,
}

impl NewPet {
    /// The animal under the identifier that the store has assigned.
    #[must_use]
    pub fn with_id(self, id: PetId) -> Pet {
        let Self { name, category_id, status } = self;
        Pet { id, name, category_id, status }
    }
}

/// Identifier of an animal. Stores assign it in growing order and never twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PetId(pub i64);

impl PetId {
    /// Reads the plain decimal form of an int64.
    ///
    /// # Errors
    /// Anything else (`+1`, `01`, `1.0`, out of range): such a text names no animal.
    pub fn parse(text: &str) -> Result<Self, InvalidPetId> {
        plain_integer::parse(text).map(Self).ok_or(InvalidPetId)
    }
}

impl fmt::Display for PetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not the plain decimal form of an int64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an animal's identifier is a plain decimal 64-bit integer")]
pub struct InvalidPetId;

/// Identifier of a category. Any int64: this service keeps no categories to check it against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryId(pub i64);

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

    /// The word that the interface, and every store, uses.
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
    use super::{PetId, PetStatus};

    #[test]
    fn a_status_is_exactly_one_of_three_words() {
        for status in PetStatus::ALL {
            assert_eq!(PetStatus::parse(status.as_str()), Ok(status));
        }
        for text in ["", "Available", "SOLD", "sold ", "gone", "available,sold", "null"] {
            assert!(PetStatus::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_identifier_is_a_plain_integer() {
        assert_eq!(PetId::parse("42"), Ok(PetId(42)));
        assert_eq!(PetId::parse("-7"), Ok(PetId(-7)));
        assert!(PetId::parse("042").is_err());
    }
}
