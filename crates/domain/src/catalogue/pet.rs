//! The animal, with and without an identifier, and its fields (`docs/INTERFACE.md`, "Animals").

use std::fmt;

use crate::{catalogue::name::PetName, error::Corruption, plain_integer};

/// An animal of the catalogue, as the service returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pet {
    /// The identifier, which the store assigns.
    pub id: PetId,
    /// The name, byte for byte as the client sent it.
    pub name: PetName,
    /// The category of the animal. Categories are not part of this service.
    pub category_id: CategoryId,
    /// The status; `None` if the client gave no status, because there is no default.
    pub status: Option<PetStatus>,
}

impl Pet {
    /// Makes an animal from a stored row.
    ///
    /// # Errors
    /// [`Corruption`] names the animal, the field and the rule that the row breaks.
    pub fn from_stored(
        id: i64,
        name: impl Into<String>,
        category_id: i64,
        status: Option<&str>,
    ) -> Result<Self, Corruption> {
        let corrupt = |field: &str, rule: &dyn fmt::Display| {
            Corruption::new(format_args!("animal {id}"), format_args!("its {field} {rule}"))
        };
        let status = status.map(PetStatus::parse).transpose();
        Ok(Self {
            id: PetId(id),
            name: PetName::parse(name).map_err(|rule| corrupt("name", &rule))?,
            category_id: CategoryId(category_id),
            status: status.map_err(|rule| corrupt("status", &rule))?,
        })
    }
}

/// An animal to be added: a [`Pet`] without an identifier.
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
    /// Returns the animal under the identifier that the store has assigned.
    #[must_use]
    pub fn with_id(self, id: PetId) -> Pet {
        let Self { name, category_id, status } = self;
        Pet { id, name, category_id, status }
    }
}

/// The identifier of an animal. Stores assign identifiers in ascending order, and each identifier only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PetId(pub i64);

impl PetId {
    /// Parses the plain decimal form of an int64. Returns `None` for any other text (`+1`, `01`, `1.0`, out of range),
    /// which names no animal.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        plain_integer::parse(text).map(Self)
    }
}

impl fmt::Display for PetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The identifier of a category: any int64, because this service keeps no categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryId(pub i64);

impl CategoryId {
    /// Parses the plain decimal form of an int64.
    ///
    /// # Errors
    /// If `text` is anything else (`+1`, `-0`, `01`, `1.0`, out of range).
    pub fn parse(text: &str) -> Result<Self, InvalidCategoryId> {
        plain_integer::parse(text).map(Self).ok_or(InvalidCategoryId)
    }
}

/// The text is not the plain decimal form of an int64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {} to {}, in plain digits", i64::MIN, i64::MAX)]
pub struct InvalidCategoryId;

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
    use super::{CategoryId, Pet, PetId, PetStatus};

    #[test]
    fn a_stored_row_is_a_valid_animal_or_an_error_that_names_the_broken_rule() {
        let pet = Pet::from_stored(7, "Rex", 1, Some("sold")).unwrap();
        assert_eq!((pet.id, pet.name.as_str(), pet.category_id), (PetId(7), "Rex", CategoryId(1)));
        for (name, status, broken) in
            [("", None, "its name must"), ("a", Some("x"), "its status must")]
        {
            let corruption = Pet::from_stored(7, name, 1, status).unwrap_err();
            assert_eq!(corruption.what, "animal 7");
            assert!(corruption.rule.starts_with(broken), "{corruption}");
        }
    }

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
