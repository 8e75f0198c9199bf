//! The rules of single fields, for every format.

use std::{borrow::Cow, mem};

use petstore_domain::{CategoryId, NewPet, PetId, PetName, PetStatus};

use crate::{faults::Faults, field::Field};

/// The highest identifier of a record: a store must be able to assign another one after it.
const MAX_ID: i64 = i64::MAX - 1;
/// What [`Record::id`] must be, for messages.
pub(crate) const ID_RULE: &str =
    "must be a whole number from 1 to 9223372036854775806, in plain digits";

/// An animal as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The identifier in the store that the record comes from, 1..=`i64::MAX - 1`.
    pub id: Option<PetId>,
    /// Everything else.
    pub pet: NewPet,
}

/// An animal while its fields are read. It collects every fault, not only the first.
#[derive(Debug, Default)]
pub struct Draft {
    /// Whether each field was given, good or not, in the order of [`Field::ALL`].
    given: [bool; Field::ALL.len()],
    id: Option<PetId>,
    name: Option<PetName>,
    category_id: Option<CategoryId>,
    status: Option<PetStatus>,
    faults: Faults,
}

impl Draft {
    /// Reads the value of a field: the characters of a text or the digits of a number, or why the
    /// value is neither.
    pub fn read(&mut self, field: Field, value: Result<Cow<'_, str>, String>) {
        if mem::replace(&mut self.given[field as usize], true) {
            self.faults.add(field.as_str(), "must be given once");
        } else if let Err(fault) = value.and_then(|text| self.set(field, text)) {
            self.faults.add(field.as_str(), &fault);
        }
    }

    /// Notes a field that must not be given.
    pub(crate) fn refuse(&mut self, name: &str, fault: &str) {
        self.faults.add(name, fault);
    }

    /// Returns the animal, once all its fields are read.
    ///
    /// # Errors
    /// Everything that is wrong with the fields; that one is absent comes last.
    pub fn finish(mut self) -> Result<Record, Faults> {
        for field in [Field::Name, Field::CategoryId] {
            if !self.given[field as usize] {
                self.faults.add(field.as_str(), "is required");
            }
        }
        match self {
            Self {
                id, name: Some(name), category_id: Some(category_id), status, faults, ..
            } if faults.is_empty() => Ok(Record { id, pet: NewPet { name, category_id, status } }),
            Self { faults, .. } => Err(faults),
        }
    }

    fn set(&mut self, field: Field, text: Cow<'_, str>) -> Result<(), String> {
        match field {
            Field::Id => self.id = Some(parse_id(&text)?),
            Field::Name => {
                self.name = Some(PetName::parse(text).map_err(|fault| fault.to_string())?);
            }
            Field::CategoryId => {
                self.category_id =
                    Some(CategoryId::parse(&text).map_err(|fault| fault.to_string())?);
            }
            Field::Status => {
                self.status = Some(PetStatus::parse(&text).map_err(|fault| fault.to_string())?);
            }
        }
        Ok(())
    }
}

fn parse_id(text: &str) -> Result<PetId, String> {
    let id = PetId::parse(text).ok().filter(|id| (1..=MAX_ID).contains(&id.0));
    id.ok_or_else(|| ID_RULE.to_owned())
}
