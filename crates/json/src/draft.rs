//! An animal that is read field by field, by the rules that all formats share.

use std::{borrow::Cow, error::Error, mem};

use petstore_domain::{CategoryId, NewPet, PetId, PetName, PetStatus};

use crate::field_errors::FieldErrors;

/// The highest identifier that a record may have, so that the store can assign a higher identifier to a new animal.
const MAX_ID: i64 = i64::MAX - 1;
/// The rule of [`Record::id`], for messages.
pub(crate) const ID_RULE: &str =
    "must be a whole number from 1 to 9223372036854775806, in plain digits";

/// An animal in a file, with its identifier in the exported store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The identifier, 1..=`i64::MAX - 1`; `None` if the record has none.
    pub id: Option<PetId>,
    /// The other fields.
    pub pet: NewPet,
}

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

/// An animal whose fields are being read. Collects all field errors, not only the first.
#[derive(Debug, Default)]
pub struct Draft {
    /// One flag per field, in the order of [`Field::ALL`]: `true` if the field was given, valid or not.
    given: [bool; Field::ALL.len()],
    id: Option<PetId>,
    name: Option<PetName>,
    category_id: Option<CategoryId>,
    status: Option<PetStatus>,
    pub(crate) errors: FieldErrors,
}

impl Draft {
    /// Sets a field to `value`: the characters of a string, or the digits of a number. A value of another type is an
    /// `Err` with the message. Collects the error of an invalid value.
    pub fn set(&mut self, field: Field, value: Result<Cow<'_, str>, String>) {
        if self.set_absent(field)
            && let Err(error) = value.map_err(Into::into).and_then(|text| self.parse(field, text))
        {
            self.errors.add(field.as_str(), &error.to_string());
        }
    }

    /// Marks a field as given, without a value. Returns `false` and collects an error if the field was given before.
    pub(crate) fn set_absent(&mut self, field: Field) -> bool {
        let is_first = !mem::replace(&mut self.given[field as usize], true);
        if !is_first {
            self.errors.add(field.as_str(), "must be given once");
        }
        is_first
    }

    /// Returns the animal.
    ///
    /// # Errors
    /// All field errors. The errors of absent fields come last.
    pub fn finish(mut self) -> Result<Record, FieldErrors> {
        for field in [Field::Name, Field::CategoryId] {
            if !self.given[field as usize] {
                self.errors.add(field.as_str(), "is required");
            }
        }
        match self {
            Self {
                id, name: Some(name), category_id: Some(category_id), status, errors, ..
            } if errors.is_empty() => Ok(Record { id, pet: NewPet { name, category_id, status } }),
            Self { errors, .. } => Err(errors),
        }
    }

    fn parse(&mut self, field: Field, text: Cow<'_, str>) -> Result<(), Box<dyn Error>> {
        match field {
            Field::Id => {
                let id = PetId::parse(&text).filter(|id| (1..=MAX_ID).contains(&id.0));
                self.id = Some(id.ok_or(ID_RULE)?);
            }
            Field::Name => self.name = Some(PetName::parse(text)?),
            Field::CategoryId => self.category_id = Some(CategoryId::parse(&text)?),
            Field::Status => self.status = Some(PetStatus::parse(&text)?),
        }
        Ok(())
    }
}
