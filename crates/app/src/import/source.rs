//! Reads a file on a separate thread, twice: first all of it is checked, then its animals are written while the
//! next lines are read. What cannot be read twice, as a pipe, is first put into a temporary file.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek as _},
    mem,
    os::fd::AsFd as _,
    thread,
};

use petstore_json::Record;
use tokio::sync::mpsc;

use crate::{
    failure::{Failure, quotable_path},
    import::lines::Lines,
    records::{CsvReader, FileArg, Format, RecordReader},
};

/// Batches that are read and wait to be written.
const MAX_QUEUED_BATCHES: usize = 2;

/// What is read next, or why nothing more can be; `None` at the end of the file.
pub(super) type Next = Result<Option<Batch>, String>;

/// What is said of a file that holds one JSON array.
const IS_ARRAY: &str = "the file must have one JSON object a line, but begins a JSON array; \
     \"jq -c '.[]'\" makes lines of it";

/// Where the lines come from, and whether they can be read twice.
pub(super) struct Input(File, bool);

/// How the lines are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) format: Format,
    /// Whether the rest is read when a line is bad.
    pub(super) skip_bad: bool,
    /// Lines of all kinds in a batch.
    pub(super) batch_lines: usize,
}

/// The file, batch by batch.
#[derive(Debug)]
pub(super) struct Source(pub(super) mpsc::Receiver<Next>);

/// Some lines of the file. Each record, and what is wrong with a line, has the number of its line, counted from 1.
#[derive(Debug)]
pub(super) struct Batch {
    /// Whether they are only checked, and will come again.
    pub(super) is_check: bool,
    pub(super) records: Vec<(u64, Record)>,
    pub(super) faults: Vec<(u64, String)>,
    pub(super) last_line: u64,
    /// Of all of the file up to there.
    pub(super) digest: [u8; 32],
    /// How many lines the file may have, going by its size.
    pub(super) of: u64,
}

impl Input {
    pub(super) fn open(file: &FileArg) -> Result<Self, Failure> {
        let opened = match file {
            FileArg::Standard => {
                io::stdin().as_fd().try_clone_to_owned().map(|stdin| Self(stdin.into(), false))
            }
            FileArg::Path(path) => File::open(path).and_then(|file| {
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Ok(Self(file, metadata.is_file()))
            }),
        };
        opened.map_err(|error| {
            let shown = match file {
                FileArg::Standard => "standard input".to_owned(),
                FileArg::Path(path) => quotable_path(path),
            };
            Failure::runtime(format!("cannot read {shown}: {error}"))
        })
    }

    /// Returns a file that can be read twice.
    fn into_file(self) -> Result<File, String> {
        let Self(mut input, can_be_read_twice) = self;
        if can_be_read_twice {
            return Ok(input);
        }
        let copied = tempfile::tempfile().and_then(|mut file| {
            io::copy(&mut input, &mut file)?;
            Ok(file)
        });
        copied.map_err(|error| format!("cannot read all of it into a temporary file: {error}"))
    }
}

impl Source {
    /// Begins to read.
    pub(super) fn begin(input: Input, reading: Reading) -> Result<Self, Failure> {
        let (batches, receiver) = mpsc::channel(MAX_QUEUED_BATCHES);
        thread::Builder::new()
            .name("import-reader".to_owned())
            .spawn(move || {
                let last = read(input, reading, &batches).map(|()| None);
                // Without a receiver the import has ended already.
                let _ = batches.blocking_send(last);
            })
            .map_err(|error| Failure::runtime(format!("cannot start a thread: {error}")))?;
        Ok(Self(receiver))
    }

    /// Returns the next batch; `None` after the last one.
    pub(super) async fn next(&mut self) -> Next {
        let cut_off = || Err("the reader of the file has failed".to_owned());
        self.0.recv().await.unwrap_or_else(cut_off)
    }
}

/// Reads until the end of the file or of the import.
fn read(input: Input, reading: Reading, batches: &mpsc::Sender<Next>) -> Result<(), String> {
    let mut file = input.into_file()?;
    let size = file.metadata().map_err(unreadable)?.len();
    for is_check in [true, false] {
        file.rewind().map_err(unreadable)?;
        let lines = Lines::new(BufReader::new(&file));
        let mut reader = FileReader { lines, reading, size, with_ids: None, blank: 0 };
        let records = reader.record_reader()?;
        let mut has_faults = false;
        while let Some(batch) = reader.batch(&records, is_check).map_err(unreadable)? {
            has_faults |= !batch.faults.is_empty();
            if batches.blocking_send(Ok(Some(batch))).is_err() {
                return Ok(());
            }
        }
        if has_faults && !reading.skip_bad {
            break;
        }
    }
    Ok(())
}

struct FileReader<R> {
    lines: Lines<R>,
    reading: Reading,
    /// The size of the whole file, in bytes.
    size: u64,
    /// Whether the records have identifiers; the first one decides.
    with_ids: Option<bool>,
    /// Blank lines just before. At the end of the file they are no fault.
    blank: u64,
}

impl<R: BufRead> FileReader<R> {
    fn record_reader(&mut self) -> Result<RecordReader, String> {
        let refused = |fault| format!("line 1: {fault}");
        match self.reading.format {
            Format::Ndjson if self.lines.begin_with(b'[').map_err(unreadable)? => {
                Err(refused(IS_ARRAY.to_owned()))
            }
            Format::Ndjson => Ok(RecordReader::Ndjson),
            Format::Csv => {
                let header = self.lines.next().map_err(unreadable)?;
                let header = header.unwrap_or_else(|| Err("the file is empty".to_owned()));
                header.and_then(CsvReader::new).map(RecordReader::Csv).map_err(refused)
            }
        }
    }

    /// Reads the next lines; `None` if there is none.
    fn batch(&mut self, reader: &RecordReader, is_check: bool) -> io::Result<Option<Batch>> {
        let (mut records, mut faults) = (Vec::new(), Vec::new());
        let before = self.lines.number;
        for _ in 0..self.reading.batch_lines {
            let Some(line) = self.lines.next()? else { break };
            if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
                self.blank += 1;
                continue;
            }
            let record = line.and_then(|line| reader.read(line));
            if let blank @ 1.. = mem::take(&mut self.blank) {
                let reason = format!("the line is empty ({blank} such lines)");
                faults.push((self.lines.number - blank, reason));
            }
            match record.and_then(|record| self.check_id(record)) {
                Ok(record) => records.push((self.lines.number, record)),
                Err(reason) => faults.push((self.lines.number, reason)),
            }
        }
        let (last_line, digest, of) = (self.lines.number, self.lines.digest(), self.estimate());
        let batch = Batch { is_check, records, faults, last_line, digest, of };
        Ok((last_line > before).then_some(batch))
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
