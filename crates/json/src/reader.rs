//! The reader of the JSON of an animal. It is strict: it refuses ambiguous text, and names every field error.

use std::{borrow::Cow, fmt, str};

use petstore_domain::{InvalidCategoryId, NewPet};
use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    draft::{Draft, Field, ID_RULE, Record},
    integer::in_plain_digits,
};

const NUMBER: &str = "a number";
const OBJECT: &str = "an object";
const STRING: &str = "a string";

/// The reason why a text is not an animal, displayed on one line for the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is not one JSON document in UTF-8.
    #[error("{0}")]
    InvalidJson(String),
    /// The text is JSON, but not an animal.
    #[error("{0}")]
    InvalidPet(String),
}

/// Reads the body of createPet: an object without `id`.
///
/// # Errors
/// See [`ReadError`].
pub fn read_new_pet(body: &[u8]) -> Result<NewPet, ReadError> {
    Input::Body.read(body).map(|record| record.pet)
}

/// Reads a line of NDJSON: an object that may have an `id`. Its `status` may be `null`, which means absent.
///
/// # Errors
/// See [`ReadError`].
pub fn read_record(line: &[u8]) -> Result<Record, ReadError> {
    Input::Line.read(line)
}

/// The kind of input: the body of createPet, or a line of NDJSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Body,
    Line,
}

impl Input {
    /// Returns the noun that messages use, and the message about an unknown field.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Body => ("the body", "unknown field; allowed are name, categoryId and status"),
            Self::Line => {
                ("the line", "unknown field; allowed are id, name, categoryId and status")
            }
        }
    }

    fn read(self, bytes: &[u8]) -> Result<Record, ReadError> {
        let text = self.text(bytes).map_err(ReadError::InvalidJson)?;
        let mut draft = Draft::default();
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_map(Members { input: self, draft: &mut draft })
            .and_then(|()| json.end())
            .map_err(|error| self.not_an_object(text, &error))?;
        draft.finish().map_err(|errors| ReadError::InvalidPet(errors.to_string()))
    }

    fn text(self, bytes: &[u8]) -> Result<&str, String> {
        let (noun, _) = self.words();
        if bytes.is_empty() {
            return Err(format!("{noun} is empty; it must be a JSON object"));
        }
        let text = str::from_utf8(bytes).map_err(|error| {
            format!("{noun} must be UTF-8, but byte {} is not", error.valid_up_to())
        })?;
        if text.starts_with('\u{feff}') {
            return Err(format!("{noun} must begin with JSON, not with a byte-order mark"));
        }
        Ok(text)
    }

    /// Returns the reason why `text` is not an object: invalid JSON, or another kind of value.
    fn not_an_object(self, text: &str, error: &serde_json::Error) -> ReadError {
        let (noun, _) = self.words();
        let why = |error: &serde_json::Error| match self {
            Self::Body => error.to_string(),
            // An import names the line of the file, so the parser's line 1 would mislead.
            Self::Line => error.to_string().replace(" at line 1 column ", " at column "),
        };
        match serde_json::from_str::<&RawValue>(text).map(kind_of) {
            Err(error) => {
                let why = why(&error);
                ReadError::InvalidJson(format!("{noun} must be one JSON document, but: {why}"))
            }
            // An object is refused here only if a member name has half a surrogate pair.
            Ok(OBJECT) => {
                ReadError::InvalidPet(format!("{noun} must be a JSON object, but: {}", why(error)))
            }
            Ok(kind) => {
                ReadError::InvalidPet(format!("{noun} must be a JSON object, but is {kind}"))
            }
        }
    }
}

/// Reads the members of an object into a draft.
///
/// serde's derive would accept an array, and stop at the first error.
struct Members<'d> {
    input: Input,
    draft: &'d mut Draft,
}

impl<'b> Visitor<'b> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            match Field::from_name(&name) {
                Some(Field::Id) if self.input == Input::Body => {
                    self.draft.errors.add(&name, "is assigned by the service and must not be sent");
                }
                // DuckDB, pandas and sqlite3 write absent values as `null`.
                Some(Field::Status) if self.input == Input::Line && value.get() == "null" => {
                    self.draft.set_absent(Field::Status);
                }
                Some(field) => self.draft.set(field, text_of(field, value)),
                None => self.draft.errors.add(&name, self.input.words().1),
            }
        }
        Ok(())
    }
}

/// Returns the characters of a string, or the plain digits of an integer: `5` for `5.0`.
fn text_of(field: Field, value: &RawValue) -> Result<Cow<'_, str>, String> {
    match (field, kind_of(value)) {
        (Field::Id | Field::CategoryId, NUMBER) => Ok(in_plain_digits(value.get())),
        (Field::Id, kind) => Err(format!("{ID_RULE}, but is {kind}")),
        (Field::CategoryId, kind) => Err(format!("{InvalidCategoryId}, but is {kind}")),
        (Field::Name | Field::Status, STRING) => {
            serde_json::from_str(value.get()).map(Cow::Owned).map_err(|_| {
                "must be a string of Unicode characters, but has half a surrogate pair".to_owned()
            })
        }
        (Field::Name | Field::Status, kind) => Err(format!("must be a string, but is {kind}")),
    }
}

/// Returns the kind of a value, with its article, by the first character. A raw value is valid JSON without surrounding
/// white space.
fn kind_of(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => OBJECT,
        Some(b'[') => "an array",
        Some(b'"') => STRING,
        Some(b't' | b'f') => "a boolean",
        Some(b'n') | None => "null",
        Some(_) => NUMBER,
    }
}

#[cfg(test)]
mod tests;
