//! Reads a file on a separate thread, while the animals before are being written.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    mem,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use petstore_json::Record;
use tokio::sync::mpsc;

use crate::{
    failure::{Failure, quotable_path},
    import::lines::Lines,
    progress::Of,
    records::{CsvReader, FileArg, Format, RecordReader},
};

/// Lines in a batch. With 5,000, beginning and ending each took an eighth of an import into PostgreSQL.
const BATCH_LINES: usize = 20_000;
/// A source that gives fewer lines in this time gives them in smaller batches.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// Batches that are read and wait to be written.
const MAX_QUEUED_BATCHES: usize = 2;

/// What is read next; `None` at the end of the file.
pub(super) type Next = Result<Option<Batch>, Failure>;

/// What is said of a file that holds one JSON array.
const IS_ARRAY: &str = "the file must have one JSON object a line, but begins a JSON array; \
     \"jq -c '.[]'\" makes lines of it";

/// The file, batch by batch.
#[derive(Debug)]
pub(super) struct Source(pub(super) mpsc::Receiver<Next>);

/// Some lines of the file.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<Numbered>,
    pub(super) faults: Vec<Fault>,
    /// How many lines the file may have, going by its size.
    pub(super) of: Of,
}

/// What is wrong with one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) reason: String,
}

/// A record, and the line that it was read from, counted from 1.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) line: u64,
    pub(super) record: Record,
}

impl Source {
    /// Begins to read.
    pub(super) fn open(file: FileArg, format: Format) -> Result<Self, Failure> {
        let (input, size): (Box<dyn BufRead + Send>, _) = match file {
            FileArg::Standard => (Box::new(BufReader::new(io::stdin())), None),
            FileArg::Path(path) => {
                let (file, size) = open(&path).map_err(|error| {
                    Failure::runtime(format!("cannot read {}: {error}", quotable_path(&path)))
                })?;
                (Box::new(BufReader::new(file)), size)
            }
        };
        let (batches, receiver) = mpsc::channel(MAX_QUEUED_BATCHES);
        let reader = FileReader { lines: Lines::new(input), size, with_ids: None, blank: 0 };
        thread::Builder::new()
            .name("import-reader".to_owned())
            .spawn(move || reader.run(format, &batches))
            .map_err(|error| Failure::runtime(format!("cannot start a thread: {error}")))?;
        Ok(Self(receiver))
    }

    /// Returns the next batch; `None` after the last one.
    pub(super) async fn next(&mut self) -> Next {
        let cut_off =
            || Err(Failure::runtime("nothing was kept: the reader of the file has failed"));
        self.0.recv().await.unwrap_or_else(cut_off)
    }
}

fn open(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok((file, metadata.is_file().then_some(metadata.len())))
}

struct FileReader<R> {
    lines: Lines<R>,
    /// The size of the whole file, in bytes.
    size: Option<u64>,
    /// Whether the records have identifiers; the first one decides.
    with_ids: Option<bool>,
    /// Blank lines just before. At the end of the file they are no fault.
    blank: u64,
}

impl<R: BufRead> FileReader<R> {
    fn run(mut self, format: Format, batches: &mpsc::Sender<Next>) {
        let last = self.send_all(format, batches).map(|()| None);
        // Without a receiver the import has ended already.
        let _ = batches.blocking_send(last);
    }

    /// Reads until the end of the file or of the import.
    fn send_all(&mut self, format: Format, batches: &mpsc::Sender<Next>) -> Result<(), Failure> {
        let mut reader = self.record_reader(format)?;
        while let Some(batch) = self.batch(&mut reader).map_err(unreadable)? {
            if batches.blocking_send(Ok(Some(batch))).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn record_reader(&mut self, format: Format) -> Result<RecordReader, Failure> {
        let refused = |fault| Failure::runtime(format!("nothing was kept: line 1: {fault}"));
        match format {
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
    fn batch(&mut self, reader: &mut RecordReader) -> io::Result<Option<Batch>> {
        let (mut records, mut faults) = (Vec::new(), Vec::new());
        let mut began = None;
        while records.len() + faults.len() < BATCH_LINES {
            let Some(line) = self.lines.next()? else { break };
            if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
                self.blank += 1;
                continue;
            }
            let record = line.and_then(|line| reader.read(line));
            if let blank @ 1.. = mem::take(&mut self.blank) {
                let reason = format!("the line is empty ({blank} such lines)");
                faults.push(Fault { line: self.lines.number - blank, reason });
            }
            match record.and_then(|record| self.check_id(record)) {
                Ok(record) => records.push(Numbered { line: self.lines.number, record }),
                Err(reason) => faults.push(Fault { line: self.lines.number, reason }),
            }
            if began.get_or_insert_with(Instant::now).elapsed() >= BATCH_TIME {
                break;
            }
        }
        let is_empty = records.is_empty() && faults.is_empty();
        Ok((!is_empty).then(|| Batch { records, faults, of: self.estimate() }))
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
    fn estimate(&self) -> Of {
        let Lines { number, bytes, .. } = &self.lines;
        let Some(size) = self.size else { return Of::Unknown };
        let lines = u128::from(*number) * u128::from(size) / u128::from((*bytes).max(1));
        u64::try_from(lines).map_or(Of::Unknown, Of::About)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unreadable(error: io::Error) -> Failure {
    Failure::runtime(format!("cannot read on, and nothing was kept: {error}"))
}
