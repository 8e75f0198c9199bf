//! The names of the fields of an animal.

/// A field of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The identifier: a number.
    Id,
    /// The name: text.
    Name,
    /// The identifier of the category: a number.
    CategoryId,
    /// The availability: one of three words. The status is the only optional field of a new animal.
    Status,
}

impl Field {
    /// All fields, in the order of the JSON and of CSV columns.
    pub const ALL: [Self; 4] = [Self::Id, Self::Name, Self::CategoryId, Self::Status];

    /// Returns the name in JSON and in CSV.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::CategoryId => "categoryId",
            Self::Status => "status",
        }
    }

    /// Returns the field of this name; letter case matters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn a_field_is_found_by_its_name() {
        for field in Field::ALL {
            assert_eq!(Field::from_name(field.as_str()), Some(field));
        }
    }
}
