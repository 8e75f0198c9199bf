//! Animals in a file, one a line: NDJSON or CSV.

mod csv;

use petstore_domain::Pet;
use petstore_json::{Record, read_record, write_pet};

pub(crate) use self::csv::CsvReader;
use crate::cli::Format;

/// The line before the first animal, if the format has one.
pub(crate) const fn header(format: Format) -> &'static str {
    match format {
        Format::Ndjson => "",
        Format::Csv => csv::HEADER,
    }
}

/// Appends the line of an animal to `text`.
pub(crate) fn write(format: Format, pet: &Pet, text: &mut Vec<u8>) {
    match format {
        Format::Ndjson => {
            write_pet(text, pet);
            text.push(b'\n');
        }
        Format::Csv => csv::write(text, pet),
    }
}

/// Reads lines of one format.
#[derive(Debug)]
pub(crate) enum RecordReader {
    Ndjson,
    Csv(CsvReader),
}

impl RecordReader {
    /// Reads a line, which has no line break, or says everything that is wrong with it.
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<Record, String> {
        match self {
            Self::Ndjson => read_record(line).map_err(|error| error.to_string()),
            Self::Csv(reader) => reader.read(line),
        }
    }
}

#[cfg(test)]
mod tests;
