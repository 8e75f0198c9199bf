//! Comma-separated values under a header (RFC 4180).
//!
//! A name has no line break, so each record is one line. The crate `csv` is handed one line at a
//! time: a quote that is left open is a fault of its line and does not take in the rest of the file.

use std::{
    borrow::Cow,
    io::{Cursor, Write as _},
    str,
};

use csv::{ReaderBuilder, StringRecord, Terminator};
use petstore_domain::{Pet, PetStatus};
use petstore_json::{Draft, Field, Record};

pub(super) const HEADER: &str = "id,name,categoryId,status\n";

pub(super) fn write(text: &mut Vec<u8>, pet: &Pet) {
    let Pet { id, name, category_id, status } = pet;
    let name = quoted(name.as_str());
    let status = status.map_or("", PetStatus::as_str);
    // Writing to memory never fails.
    let _ = writeln!(text, "{id},{name},{},{status}", category_id.0);
}

/// Quotes a name where the format asks for it, and where it begins or ends with a blank: some
/// programs remove such blanks. (The writer of the crate `csv` cannot be asked for the latter.)
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"']) || name.trim() != name {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

/// Reads the lines under a header.
#[derive(Debug)]
pub(crate) struct CsvReader {
    /// The field of each column, from the left.
    columns: Vec<Field>,
    splitter: Splitter,
}

impl CsvReader {
    /// Reads the header: the names of fields in any order, `name` and `categoryId` among them.
    pub(crate) fn new(header: &[u8]) -> Result<Self, String> {
        let rule = || {
            let all = HEADER.trim_end();
            format!("the header must be {all}, in any order; id and status may be left out")
        };
        let mut splitter = Splitter::new();
        let mut columns = Vec::new();
        for (separator, noun) in [(b';', "semicolons"), (b'\t', "tabs")] {
            if header.contains(&separator) && !header.contains(&b',') {
                return Err(format!(
                    "fields must be separated by commas, but the header has {noun}"
                ));
            }
        }
        for name in splitter.split(header)? {
            let field = Field::from_name(name).ok_or_else(rule)?;
            if columns.contains(&field) {
                return Err(rule());
            }
            columns.push(field);
        }
        let complete = columns.contains(&Field::Name) && columns.contains(&Field::CategoryId);
        if complete { Ok(Self { columns, splitter }) } else { Err(rule()) }
    }

    pub(super) fn read(&mut self, line: &[u8]) -> Result<Record, String> {
        let cells = self.splitter.split(line)?;
        let (expected, actual) = (self.columns.len(), cells.len());
        if actual != expected {
            return Err(format!("the line must have {expected} fields, but has {actual}"));
        }
        let mut draft = Draft::default();
        for (field, cell) in self.columns.iter().zip(cells) {
            let absent = cell.is_empty() && matches!(field, Field::Id | Field::Status);
            if !absent {
                draft.read(*field, Ok(cell.into()));
            }
        }
        draft.finish().map_err(|faults| faults.to_string())
    }
}

/// Takes lines apart, one by one.
#[derive(Debug)]
struct Splitter {
    /// Its input is replaced for each line. The end of the input ends a record, an open quote too.
    csv: csv::Reader<Cursor<Vec<u8>>>,
    cells: StringRecord,
}

impl Splitter {
    fn new() -> Self {
        let csv = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            // A carriage return inside a line belongs to its cell.
            .terminator(Terminator::Any(b'\n'))
            .from_reader(Cursor::default());
        Self { csv, cells: StringRecord::new() }
    }

    fn split(&mut self, line: &[u8]) -> Result<&StringRecord, String> {
        if line.is_empty() {
            return Err("the line is empty".to_owned());
        }
        let text = str::from_utf8(line).map_err(|error| {
            format!("the line must be UTF-8, but byte {} is not", error.valid_up_to())
        })?;
        let input = self.csv.get_mut();
        input.get_mut().clear();
        input.get_mut().extend_from_slice(line);
        input.set_position(0);
        self.csv.read_record(&mut self.cells).map_err(|error| error.to_string())?;
        if text.contains('"') && after_strict(text, &self.cells) != Some("") {
            let rule =
                "quotes must be around a whole field, closed on its line, and doubled inside it";
            return Err(rule.to_owned());
        }
        Ok(&self.cells)
    }
}

/// What follows these cells in `line` if it has them as RFC 4180 writes them. The crate `csv` is
/// lenient: to it `"a"b` and `"ab` are `ab`, and `a"b` needs no quotes.
fn after_strict<'l>(line: &'l str, cells: &StringRecord) -> Option<&'l str> {
    let mut rest = line;
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(',')?;
        }
        rest = match rest.strip_prefix('"') {
            Some(quoted) => quoted.strip_prefix(&cell.replace('"', "\"\""))?.strip_prefix('"')?,
            None if cell.contains('"') => return None,
            None => rest.strip_prefix(cell)?,
        };
    }
    Some(rest)
}
