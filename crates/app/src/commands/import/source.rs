//! Reads a file in batches, twice: to check it, and to store its animals. Standard input, a pipe or a compressed file
//! is first copied to a temporary file.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek as _, Write as _},
    os::fd::AsFd as _,
    path::Path,
    thread,
};

use flate2::read::MultiGzDecoder;
use petstore_json::Record;
use tokio::sync::{oneshot, watch};

use crate::{
    commands::{
        import::lines::Lines,
        records::{Format, RecordReader, is_compressed},
    },
    system::{Failure, quotable_path},
};

/// Returns the input as a file that can be read twice. Copies standard input, a pipe or a compressed file, and notifies
/// `advanced` of each copied piece.
pub(super) async fn open(
    path: Option<&Path>,
    advanced: watch::Sender<()>,
) -> Result<File, Failure> {
    let path = path.map(Path::to_owned);
    let (sender, opened) = oneshot::channel();
    // On a separate thread, because the runtime waits for its own threads when it stops. Opening a pipe waits for a
    // writer, and the input may be endless.
    thread::spawn(move || sender.send(open_or_copy(path.as_deref(), &advanced)));
    opened
        .await
        .unwrap_or_else(|_| Err(Failure::runtime("a bug has ended the reading of the input")))
}

fn open_or_copy(path: Option<&Path>, advanced: &watch::Sender<()>) -> Result<File, Failure> {
    let opening = || {
        let file: File = match path {
            None => io::stdin().as_fd().try_clone_to_owned()?.into(),
            Some(path) => File::open(path)?,
        };
        let metadata = file.metadata()?;
        let is_directory = || io::Error::from(io::ErrorKind::IsADirectory);
        if metadata.is_dir() { Err(is_directory()) } else { Ok((file, metadata.is_file())) }
    };
    let shown = path.map_or_else(|| "standard input".to_owned(), quotable_path);
    let (file, is_plain) = opening().map_err(Failure::context(format!("cannot read {shown}")))?;
    let is_compressed = path.is_some_and(is_compressed);
    if path.is_some() && is_plain && !is_compressed {
        return Ok(file);
    }
    let input: Box<dyn Read> =
        if is_compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let cannot = "nothing was stored: cannot copy the whole input into a temporary file";
    copy(BufReader::new(input), advanced).map_err(Failure::context(cannot))
}

fn copy(mut input: impl BufRead, advanced: &watch::Sender<()>) -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    loop {
        let piece = input.fill_buf()?;
        let length = piece.len();
        if length == 0 {
            return Ok(copy);
        }
        copy.write_all(piece)?;
        input.consume(length);
        // Each piece counts as progress, because a pipe may deliver one line at a time.
        advanced.send_replace(());
    }
}

/// A batch of lines. Each fault has the number of its line, counted from 1.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    pub(super) faults: Vec<(u64, String)>,
    pub(super) last_line: u64,
    /// The SHA-256 digest of the file up to `last_line`.
    pub(super) digest: [u8; 32],
}

/// Reads a file from its beginning.
pub(super) struct Source<'f> {
    lines: Lines<BufReader<&'f File>>,
    records: RecordReader,
    /// `Some(true)` if the records have identifiers. With `None`, the first record decides.
    pub(super) with_ids: Option<bool>,
}

impl<'f> Source<'f> {
    /// Rewinds the file, and reads the header of CSV.
    pub(super) fn new(mut file: &'f File, format: Format, delimiter: char) -> Result<Self, String> {
        let unreadable = |error: io::Error| format!("cannot read on: {error}");
        file.rewind().map_err(unreadable)?;
        let mut lines = Lines::new(BufReader::new(file));
        let records = match format {
            Format::Ndjson => RecordReader::Ndjson,
            Format::Csv => {
                let header = loop {
                    match lines.next().map_err(unreadable)? {
                        Some(line) if is_blank(&line) => {}
                        Some(line) => break line.map(<[u8]>::to_vec),
                        None => break Err("the file is empty".to_owned()),
                    }
                };
                let reader = header.and_then(|header| RecordReader::csv(&header, delimiter));
                reader.map_err(|fault| format!("line {}: {fault}", lines.number.max(1)))?
            }
        };
        Ok(Self { lines, records, with_ids: None })
    }

    /// Reads the next batch of at most `max` lines; `None` at end of file.
    pub(super) fn next(&mut self, max: usize) -> Result<Option<Batch>, String> {
        let (mut records, mut faults) = (Vec::new(), Vec::new());
        let before = self.lines.number;
        for _ in 0..max {
            let line = self.lines.next().map_err(|error| format!("cannot read on: {error}"))?;
            let Some(line) = line else { break };
            if is_blank(&line) {
                continue;
            }
            let record = line.and_then(|line| self.records.read(line));
            let number = self.lines.number;
            match record.and_then(|record| self.check_id(record)) {
                Ok(record) => records.push(record),
                Err(reason) => faults.push((number, reason)),
            }
        }
        let (last_line, digest) = (self.lines.number, self.lines.digest());
        Ok((last_line > before).then_some(Batch { records, faults, last_line, digest }))
    }

    /// Checks that either every record has an identifier, or none has one.
    fn check_id(&mut self, record: Record) -> Result<Record, String> {
        match (*self.with_ids.get_or_insert(record.id.is_some()), record.id) {
            (true, None) => Err("`id`: is missing, but earlier records have one".to_owned()),
            (false, Some(_)) => Err("`id`: is present, but earlier records have none".into()),
            (true, Some(_)) | (false, None) => Ok(record),
        }
    }
}

fn is_blank(line: &Result<&[u8], String>) -> bool {
    line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests;
