//! Comma-separated values under a header (RFC 4180).
//!
//! A name cannot have a line break, so every record is one line, and a quote that is left open is
//! a fault of its own line.

use std::{borrow::Cow, fmt::Write as _};

use petstore_domain::{Pet, PetStatus};

use super::{Draft, FIELDS, Record};

pub(super) const HEADER: &str = "id,name,categoryId,status\n";

pub(super) fn write(pet: &Pet, text: &mut String) {
    let Pet { id, name, category_id, status } = pet;
    let name = quoted(name.as_str());
    let status = status.map_or("", PetStatus::as_str);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{id},{name},{},{status}", category_id.0);
}

/// Quotes what could be misread, blanks at an end too: some programs take them away.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"']) || text.trim() != text {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// The fields that the columns hold, from the left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns(Vec<&'static str>);

impl Columns {
    /// Reads the header: the names of fields in any order, `name` and `categoryId` among them.
    pub(crate) fn of(header: &str) -> Result<Self, String> {
        let rule =
            || format!("the header must be {}, without id and status if need be", FIELDS.join(","));
        let mut columns = Vec::new();
        for name in split(header)? {
            let field = FIELDS.into_iter().find(|field| *field == name).ok_or_else(rule)?;
            if columns.contains(&field) {
                return Err(rule());
            }
            columns.push(field);
        }
        let complete = columns.contains(&"name") && columns.contains(&"categoryId");
        if complete { Ok(Self(columns)) } else { Err(rule()) }
    }

    pub(super) fn read(&self, line: &str) -> Result<Record, String> {
        let Self(columns) = self;
        let values = split(line)?;
        if values.len() != columns.len() {
            let (found, wanted) = (values.len(), columns.len());
            return Err(format!("the line must have {wanted} fields, but has {found}"));
        }
        let mut draft = Draft::default();
        for (field, value) in columns.iter().zip(values) {
            match *field {
                "name" => draft.name(value),
                "categoryId" => draft.category_id(&value),
                _ if value.is_empty() => {} // Absent.
                "id" => draft.id(&value),
                _ => draft.status(&value),
            }
        }
        draft.finish()
    }
}

/// The fields of a line.
fn split(line: &str) -> Result<Vec<Cow<'_, str>>, String> {
    let mut fields = Vec::with_capacity(FIELDS.len());
    let mut rest = line;
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => bare(rest)?,
        };
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Ok(fields),
            None => return Err("a closing quote must be followed by a comma".to_owned()),
        }
    }
}

/// A field without quotes, and what stands behind it.
fn bare(text: &str) -> Result<(Cow<'_, str>, &str), String> {
    let end = text.find(',').unwrap_or(text.len());
    let (field, behind) = text.split_at(end);
    if field.contains('"') {
        return Err("a field with a quote in it must be quoted, and the quote doubled".to_owned());
    }
    Ok((Cow::Borrowed(field), behind))
}

/// A field whose opening quote is passed, and what stands behind its closing one.
fn unquote(text: &str) -> Result<(Cow<'_, str>, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    while let Some((part, behind)) = rest.split_once('"') {
        field.push_str(part);
        let Some(more) = behind.strip_prefix('"') else { return Ok((Cow::Owned(field), behind)) };
        field.push('"');
        rest = more;
    }
    Err("a quote is not closed on its line (a name has no line break)".to_owned())
}
