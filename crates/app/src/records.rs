//! Animals written down, one a line.

mod csv;
mod ndjson;

use petstore_domain::{CategoryId, NewPet, Pet, PetId, PetName, PetStatus};

pub(crate) use self::csv::Columns;
use crate::cli::Format;

/// What every format's field is called, in the order in which it is written.
const FIELDS: [&str; 4] = ["id", "name", "categoryId", "status"];

/// An animal that was written down, with its identifier if that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: Option<PetId>,
    pub(crate) pet: NewPet,
}

/// What stands before the first animal.
pub(crate) fn header(format: Format) -> &'static str {
    match format {
        Format::Ndjson => "",
        Format::Csv => csv::HEADER,
    }
}

/// Writes the line of `pet` behind what `text` holds.
pub(crate) fn write(format: Format, pet: &Pet, text: &mut String) {
    match format {
        Format::Ndjson => ndjson::write(pet, text),
        Format::Csv => csv::write(pet, text),
    }
}

/// How lines are read.
#[derive(Debug)]
pub(crate) enum Reader {
    Ndjson,
    /// With the columns that the header names.
    Csv(Columns),
}

impl Reader {
    /// The animal of a line, which has no line break; or all that is wrong with it.
    pub(crate) fn read(&self, line: &str) -> Result<Record, String> {
        match self {
            Self::Ndjson => ndjson::read(line),
            Self::Csv(columns) => columns.read(line),
        }
    }
}

/// A record while its fields are read.
#[derive(Debug, Default)]
struct Draft {
    id: Option<PetId>,
    name: Option<PetName>,
    category_id: Option<CategoryId>,
    status: Option<PetStatus>,
    faults: Vec<String>,
}

impl Draft {
    fn id(&mut self, number: &str) {
        self.id = self.keep("id", id(number));
    }

    fn name(&mut self, text: impl Into<String>) {
        self.name = self.keep("name", PetName::parse(text).map_err(|fault| fault.to_string()));
    }

    fn category_id(&mut self, number: &str) {
        let parsed = PetId::parse(number).map(|PetId(value)| CategoryId(value));
        let rule = format!("must be a whole number from {} to {}", i64::MIN, i64::MAX);
        self.category_id = self.keep("categoryId", parsed.map_err(|_| rule));
    }

    fn status(&mut self, text: &str) {
        let parsed = PetStatus::parse(text).map_err(|fault| fault.to_string());
        self.status = self.keep("status", parsed);
    }

    fn keep<T>(&mut self, field: &str, parsed: Result<T, String>) -> Option<T> {
        parsed.map_err(|fault| self.faults.push(format!("`{field}`: {fault}"))).ok()
    }

    /// The record, if it was read without a fault.
    fn finish(self) -> Result<Record, String> {
        match self {
            Self { id, name: Some(name), category_id: Some(category_id), status, faults }
                if faults.is_empty() =>
            {
                Ok(Record { id, pet: NewPet { name, category_id, status } })
            }
            Self { faults, .. } => Err(faults.join("; ")),
        }
    }
}

/// An identifier that a store could have assigned, and behind which it can assign another.
fn id(number: &str) -> Result<PetId, String> {
    const LAST: i64 = i64::MAX - 1;
    PetId::parse(number)
        .ok()
        .filter(|id| (1..=LAST).contains(&id.0))
        .ok_or_else(|| format!("must be a whole number from 1 to {LAST}"))
}

#[cfg(test)]
mod tests;
