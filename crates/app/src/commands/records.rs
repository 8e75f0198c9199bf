//! Animals in a file, one per line: NDJSON, or CSV with a header (RFC 4180).
//!
//! A name contains no line break, so each record is one line, and an unclosed quote is a fault of its line alone. No
//! CSV library is used, because libraries are more lenient: they read `"a"b` and `"ab` as `ab`.

use std::{
    borrow::Cow,
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    str,
};

use clap::{Args, ValueEnum};
use petstore_domain::{Pet, PetStatus};
use petstore_json::{Draft, Field, Record, read_record, write_pet};

use crate::system::quotable;

/// A format of animals in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per line
    #[default]
    Ndjson,
    /// Comma-separated values under a header (RFC 4180)
    Csv,
}

/// The file of animals, and its format.
#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    /// File of animals; '-' is standard input or output
    #[arg(value_name = "FILE|-", default_value = "-")]
    file: PathBuf,
    /// Format of the animals [default: by the extension of FILE; ndjson without one]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

impl RecordsArgs {
    /// Returns the file; `None` for a standard stream.
    pub(crate) fn path(&self) -> Option<&Path> {
        Some(&*self.file).filter(|file| *file != Path::new("-"))
    }

    /// Returns the format of `--format`. Without `--format`, returns the format of the [file extension](Format::of), or
    /// [`Format::Ndjson`] for a standard stream.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format.or_else(|| self.path().map_or(Some(Format::Ndjson), Format::of))
    }
}

impl Format {
    /// Returns the format for a file extension: [`Format::Ndjson`] without an extension, `None` for an unknown one.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let end = file.extension().map(OsStr::to_ascii_lowercase);
        match end.as_deref().map(OsStr::as_encoded_bytes) {
            Some(b"csv") => Some(Self::Csv),
            Some(b"ndjson" | b"jsonl") | None => Some(Self::Ndjson),
            Some(_) => None,
        }
    }
}

/// Returns whether the file has the extension `.gz`.
pub(crate) fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The header line of CSV.
const HEADER: &str = "id,name,categoryId,status\n";

/// Returns the header line of the format, or an empty text.
pub(crate) fn header(format: Format) -> &'static str {
    if format == Format::Csv { HEADER } else { "" }
}

/// Appends the line of an animal to `text`.
pub(crate) fn write(format: Format, pet: &Pet, text: &mut Vec<u8>) {
    match format {
        Format::Ndjson => {
            write_pet(text, pet);
            text.push(b'\n');
        }
        Format::Csv => {
            let Pet { id, name, category_id, status } = pet;
            let name = quoted(name.as_str());
            let status = status.map_or("", PetStatus::as_str);
            // Writing to memory never fails.
            let _ = writeln!(text, "{id},{name},{},{status}", category_id.0);
        }
    }
}

/// Quotes a name if RFC 4180 requires it. Also quotes a name that begins or ends with a blank, because some programs
/// would remove the blank.
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"']) || name.trim() != name {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

/// Reads lines of one format.
#[derive(Debug)]
pub(crate) enum RecordReader {
    Ndjson,
    /// The field of each column, from the left, and the delimiter.
    Csv(Vec<Field>, char),
}

impl RecordReader {
    /// Parses a CSV header: field names in any order, including `name` and `categoryId`.
    pub(crate) fn csv(header: &[u8], delimiter: char) -> Result<Self, String> {
        let refused = |why: String| {
            let all = HEADER.trim_end();
            format!("{why}; the header must be {all}, in any order; id and status may be left out")
        };
        let mut columns = Vec::new();
        for name in cells(header, delimiter)? {
            let unknown = || refused(format!("there is no field '{}'", quotable(&name)));
            let field = Field::from_name(&name).ok_or_else(unknown)?;
            if columns.contains(&field) {
                return Err(refused(format!("the column '{name}' appears twice")));
            }
            columns.push(field);
        }
        let missing = [Field::Name, Field::CategoryId].into_iter().find(|it| !columns.contains(it));
        missing.map_or(Ok(Self::Csv(columns, delimiter)), |field| {
            Err(refused(format!("the column '{}' is missing", field.as_str())))
        })
    }

    /// Parses a line without its line ending. The error names every invalid field.
    pub(crate) fn read(&self, line: &[u8]) -> Result<Record, String> {
        let Self::Csv(columns, delimiter) = self else {
            return read_record(line).map_err(|error| error.to_string());
        };
        let cells = cells(line, *delimiter)?;
        let (expected, actual) = (columns.len(), cells.len());
        if actual != expected {
            return Err(format!("the line must have {expected} fields, but has {actual}"));
        }
        let mut draft = Draft::default();
        for (field, cell) in columns.iter().zip(cells) {
            let absent = cell.is_empty() && matches!(field, Field::Id | Field::Status);
            if !absent {
                draft.set(*field, Ok(cell));
            }
        }
        draft.finish().map_err(|faults| faults.to_string())
    }
}

/// Splits a line into its cells by RFC 4180.
fn cells(line: &[u8], delimiter: char) -> Result<Vec<Cow<'_, str>>, String> {
    const QUOTES: &str = "a quoted field must be quoted whole and end on its line, and a quote inside it must be doubled";
    if line.is_empty() {
        return Err("the line is empty".to_owned());
    }
    let text = str::from_utf8(line).map_err(|error| {
        format!("the line must be UTF-8, but byte {} is not", error.valid_up_to())
    })?;
    let mut is_quoted = false;
    let cells = text.split(|character| {
        is_quoted ^= character == '"';
        character == delimiter && !is_quoted
    });
    let unquoted = |cell| {
        if !str::contains(cell, '"') {
            return Ok(Cow::Borrowed(cell));
        }
        let inner = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
        let inner = inner.filter(|inner| !inner.replace("\"\"", "").contains('"'));
        Ok(Cow::Owned(inner.ok_or(QUOTES)?.replace("\"\"", "\"")))
    };
    cells.map(unquoted).collect()
}

#[cfg(test)]
mod tests;
