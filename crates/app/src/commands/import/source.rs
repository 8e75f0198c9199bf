//! Reads a file twice: first all of it is checked, then its animals are written. What cannot be read twice, as a pipe,
//! is first put into a temporary file.

use std::{
    fs::File,
    io::{self, BufReader, Seek as _},
    mem,
    os::fd::AsFd as _,
    path::Path,
    thread,
};

use petstore_json::Record;
use tokio::sync::oneshot;

use crate::{
    commands::{
        import::lines::Lines,
        records::{Format, RecordReader},
    },
    system::failure::{Failure, quotable_path},
};

/// The message for a file that holds one JSON array.
const IS_ARRAY: &str = "the file must have one JSON object a line, but begins a JSON array; \
     \"jq -c '.[]'\" makes lines of it";

/// Where the lines come from, and whether they can be read twice.
pub(super) struct Input(File, bool);

impl Input {
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let opened = match file {
            None => io::stdin().as_fd().try_clone_to_owned().map(|stdin| Self(stdin.into(), false)),
            Some(path) => File::open(path).and_then(|file| {
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Ok(Self(file, metadata.is_file()))
            }),
        };
        opened.map_err(|error| {
            let shown = file.map_or_else(|| "standard input".to_owned(), quotable_path);
            Failure::runtime(format!("cannot read {shown}: {error}"))
        })
    }

    /// Returns a file that can be read twice.
    pub(super) async fn into_file(self) -> Result<File, String> {
        let Self(mut input, can_be_read_twice) = self;
        if can_be_read_twice {
            return Ok(input);
        }
        let (sender, copied) = oneshot::channel();
        // The end of the program waits for threads of the runtime, and the input may come to no end.
        thread::spawn(move || {
            sender.send(tempfile::tempfile().and_then(|mut file| {
                io::copy(&mut input, &mut file)?;
                Ok(file)
            }))
        });
        let copied = copied.await.unwrap_or_else(|_| Err(io::Error::other("a bug")));
        copied.map_err(|error| format!("cannot read all of it into a temporary file: {error}"))
    }
}

/// Some lines of the file. Each record, and what is wrong with a line, has the number of its line, counted from 1.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<(u64, Record)>,
    pub(super) faults: Vec<(u64, String)>,
    pub(super) last_line: u64,
    /// Of all of the file up to there.
    pub(super) digest: [u8; 32],
    /// How many lines the file may have, going by its size.
    pub(super) of: u64,
}

/// Reads a file once.
pub(super) struct Source<'f> {
    lines: Lines<BufReader<&'f File>>,
    records: RecordReader,
    /// The size of the whole file, in bytes.
    size: u64,
    /// `Some(true)` if the records have identifiers; set by the first record.
    with_ids: Option<bool>,
    /// Blank lines just before. At the end of the file they are no fault.
    blank: u64,
}

impl<'f> Source<'f> {
    /// Begins to read, at the beginning of the file.
    pub(super) fn new(mut file: &'f File, format: Format) -> Result<Self, String> {
        file.rewind().map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut lines = Lines::new(BufReader::new(file));
        let refused = |fault| format!("line 1: {fault}");
        let records = match format {
            Format::Ndjson if lines.begin_with(b'[').map_err(unreadable)? => {
                return Err(refused(IS_ARRAY.to_owned()));
            }
            Format::Ndjson => RecordReader::Ndjson,
            Format::Csv => {
                let header = lines.next().map_err(unreadable)?;
                let header = header.unwrap_or_else(|| Err("the file is empty".to_owned()));
                header.and_then(RecordReader::csv).map_err(refused)?
            }
        };
        Ok(Self { lines, records, size, with_ids: None, blank: 0 })
    }

    /// Reads the next lines, at most `max` of all kinds; `None` if there is none.
    pub(super) fn next(&mut self, max: usize) -> Result<Option<Batch>, String> {
        let (mut records, mut faults) = (Vec::new(), Vec::new());
        let before = self.lines.number;
        for _ in 0..max {
            let Some(line) = self.lines.next().map_err(unreadable)? else { break };
            if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
                self.blank += 1;
                continue;
            }
            let record = line.and_then(|line| self.records.read(line));
            let number = self.lines.number;
            if let blank @ 1.. = mem::take(&mut self.blank) {
                faults.push((number - blank, format!("the line is empty ({blank} such lines)")));
            }
            match record.and_then(|record| self.check_id(record)) {
                Ok(record) => records.push((number, record)),
                Err(reason) => faults.push((number, reason)),
            }
        }
        let (last_line, digest, of) = (self.lines.number, self.lines.digest(), self.estimate());
        Ok((last_line > before).then_some(Batch { records, faults, last_line, digest, of }))
    }

    /// Checks that either every record has an identifier, or none has.
    fn check_id(&mut self, record: Record) -> Result<Record, String> {
        match (*self.with_ids.get_or_insert(record.id.is_some()), record.id) {
            (true, None) => Err("`id`: is missing, but records before this one have it".to_owned()),
            (false, Some(_)) => Err("`id`: is there, but records before this one have none".into()),
            (true, Some(_)) | (false, None) => Ok(record),
        }
    }

    /// Returns how many lines the file has if the rest of them are as long as those that were read.
    fn estimate(&self) -> u64 {
        let (lines, bytes) = (u128::from(self.lines.number), u128::from(self.lines.bytes.max(1)));
        u64::try_from(lines * u128::from(self.size) / bytes).unwrap_or(0)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unreadable(error: io::Error) -> String {
    format!("cannot read on: {error}")
}
