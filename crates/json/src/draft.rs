//! The rules of single fields, for every format.

use std::{borrow::Cow, mem};

use petstore_domain::{CategoryId, NewPet, PetId, PetName, PetStatus};

use crate::{field::Field, field_errors::FieldErrors};

/// The highest identifier of a record: a store must be able to assign another one after it.
const MAX_ID: i64 = i64::MAX - 1;
/// The form of [`Record::id`], for messages.
pub(crate) const ID_RULE: &str =
    "must be a whole number from 1 to 9223372036854775806, in plain digits";

/// An animal in a file, with the identifier that it had in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The identifier in the store that the record comes from, 1..=`i64::MAX - 1`; `None` if the
    /// record has none.
    pub id: Option<PetId>,
    /// The other fields.
    pub pet: NewPet,
}

/// An animal while its fields are read. It collects every field error, not only the first.
#[derive(Debug, Default)]
pub struct Draft {
    /// For each field, in the order of [`Field::ALL`]: `true` if it was given, valid or not.
    given: [bool; Field::ALL.len()],
    id: Option<PetId>,
    name: Option<PetName>,
    category_id: Option<CategoryId>,
    status: Option<PetStatus>,
    errors: FieldErrors,
}

impl Draft {
    /// Sets a field to `value`: the characters of a text, the digits of a number, or the reason why the
    /// value is neither.
    pub fn set(&mut self, field: Field, value: Result<Cow<'_, str>, String>) {
        if self.set_absent(field)
            && let Err(error) = value.and_then(|text| self.parse(field, text))
        {
            self.errors.add(field.as_str(), &error);
        }
    }

    /// Notes a field that is given without a value. Returns `false` if it was given before, which is an error.
    pub(crate) fn set_absent(&mut self, field: Field) -> bool {
        let is_first = !mem::replace(&mut self.given[field as usize], true);
        if !is_first {
            self.errors.add(field.as_str(), "must be given once");
        }
        is_first
    }

    /// Adds the error of a field that must not be given.
    pub(crate) fn refuse(&mut self, name: &str, error: &str) {
        self.errors.add(name, error);
    }

    /// Returns the animal, once all its fields are set.
    ///
    /// # Errors
    /// All field errors; the absent fields come last.
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

    fn parse(&mut self, field: Field, text: Cow<'_, str>) -> Result<(), String> {
        match field {
            Field::Id => self.id = Some(parse_id(&text)?),
            Field::Name => {
                self.name = Some(PetName::parse(text).map_err(|error| error.to_string())?);
            }
            Field::CategoryId => {
                self.category_id =
                    Some(CategoryId::parse(&text).map_err(|error| error.to_string())?);
            }
            Field::Status => {
                self.status = Some(PetStatus::parse(&text).map_err(|error| error.to_string())?);
            }
        }
        Ok(())
    }
}

fn parse_id(text: &str) -> Result<PetId, String> {
    let id = PetId::parse(text).ok().filter(|id| (1..=MAX_ID).contains(&id.0));
    id.ok_or_else(|| ID_RULE.to_owned())
}
