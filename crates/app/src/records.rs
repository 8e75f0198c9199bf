//! Animals in a file, one a line: NDJSON or CSV.

mod csv;

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{
    Args, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use petstore_domain::Pet;
use petstore_json::{Record, read_record, write_pet};

pub(crate) use self::csv::CsvReader;

/// A format of animals in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values under a header (RFC 4180).
    Csv,
}

/// The file of animals, and its format.
#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    /// Where the animals are; '-' is standard input or output.
    #[arg(
        value_name = "FILE|-",
        default_value = "-",
        value_parser = OsStringValueParser::new().map(FileArg::new)
    )]
    pub(crate) file: FileArg,
    /// Format of the animals [default: csv if FILE ends in .csv, else ndjson].
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

impl RecordsArgs {
    /// Returns the format that was asked for, or that the end of the file's name stands for: [`Format::Ndjson`] for
    /// a stream, and for a name without an end.
    pub(crate) fn format(&self) -> Option<Format> {
        let FileArg::Path(path) = &self.file else {
            return Some(self.format.unwrap_or(Format::Ndjson));
        };
        let end = path.extension().map(OsStr::to_ascii_lowercase);
        self.format.or_else(|| match end.as_deref().map(OsStr::as_encoded_bytes) {
            Some(b"csv") => Some(Format::Csv),
            Some(b"ndjson" | b"jsonl") | None => Some(Format::Ndjson),
            Some(_) => None,
        })
    }
}

/// A file, or the standard stream in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileArg {
    Standard,
    Path(PathBuf),
}

impl FileArg {
    fn new(word: OsString) -> Self {
        if word == "-" { Self::Standard } else { Self::Path(PathBuf::from(word)) }
    }
}

/// Returns the line before the first animal, if the format has one.
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
