//! Reads and judges a file on a thread of its own, while what came before is being written.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
    thread,
};

use tokio::sync::mpsc;

use super::{faults::Fault, lines::Lines};
use crate::{
    cli::{FileArg, Format},
    failure::Failure,
    progress::Of,
    records::{Columns, Reader, Record},
};

/// Lines in a batch.
const BATCH: u64 = 5_000;
/// Batches that wait to be written.
const AHEAD: usize = 2;

/// The file, batch by batch.
#[derive(Debug)]
pub(super) struct Source(mpsc::Receiver<Result<Batch, Failure>>);

/// Some lines of the file.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    pub(super) faults: Vec<Fault>,
    /// How many lines the file may have, going by its size.
    pub(super) of: Of,
}

impl Source {
    /// Begins to read.
    pub(super) fn open(file: FileArg, format: Format) -> Result<Self, Failure> {
        let (input, size): (Box<dyn BufRead + Send>, _) = match file {
            FileArg::Standard => (Box::new(BufReader::new(io::stdin())), None),
            FileArg::Path(path) => {
                let (file, size) = open(&path).map_err(|error| {
                    Failure::runtime(format!("cannot read {}: {error}", path.display()))
                })?;
                (Box::new(BufReader::new(file)), size)
            }
        };
        let (batches, receiver) = mpsc::channel(AHEAD);
        let lines = Judge { lines: Lines::of(input), size, with_ids: None };
        thread::Builder::new()
            .name("import-reader".to_owned())
            .spawn(move || lines.run(format, &batches))
            .map_err(|error| Failure::runtime(format!("cannot start a thread: {error}")))?;
        Ok(Self(receiver))
    }

    /// The next batch; `None` if the file is read.
    pub(super) async fn next(&mut self) -> Result<Option<Batch>, Failure> {
        self.0.recv().await.transpose()
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

struct Judge<R> {
    lines: Lines<R>,
    /// Of the whole file, in bytes.
    size: Option<u64>,
    /// Whether the records have identifiers; the first one decides.
    with_ids: Option<bool>,
}

impl<R: BufRead> Judge<R> {
    /// Reads until the end, or until nobody wants more.
    fn run(mut self, format: Format, batches: &mpsc::Sender<Result<Batch, Failure>>) {
        let reader = match self.reader(format) {
            Ok(reader) => reader,
            Err(failure) => return drop(batches.blocking_send(Err(failure))),
        };
        loop {
            let batch = self.batch(&reader).map_err(|error| unreadable(&error)).transpose();
            let Some(batch) = batch else { return };
            let last = batch.is_err();
            if batches.blocking_send(batch).is_err() || last {
                return;
            }
        }
    }

    fn reader(&mut self, format: Format) -> Result<Reader, Failure> {
        match format {
            Format::Ndjson => Ok(Reader::Ndjson),
            Format::Csv => {
                let header = self.lines.next().map_err(|error| unreadable(&error))?;
                let header = header.unwrap_or_else(|| Err("the file is empty".to_owned()));
                let columns = header.and_then(Columns::of).map_err(|fault| {
                    Failure::runtime(format!("nothing was kept: line 1: {fault}"))
                })?;
                Ok(Reader::Csv(columns))
            }
        }
    }

    /// The next lines; `None` if there is none.
    fn batch(&mut self, reader: &Reader) -> io::Result<Option<Batch>> {
        let (mut records, mut faults) = (Vec::new(), Vec::new());
        for _ in 0..BATCH {
            let Some(line) = self.lines.next()? else { break };
            let record = line.and_then(|line| reader.read(line));
            match record.and_then(|record| self.of_one_kind(record)) {
                Ok(record) => records.push(record),
                Err(reason) => faults.push(Fault { line: self.lines.number, reason }),
            }
        }
        let some = !records.is_empty() || !faults.is_empty();
        Ok(some.then(|| Batch { records, faults, of: self.estimate() }))
    }

    /// Either every record has an identifier, or none has.
    fn of_one_kind(&mut self, record: Record) -> Result<Record, String> {
        match (*self.with_ids.get_or_insert(record.id.is_some()), record.id) {
            (true, None) => Err("`id`: is missing, but records before this one have it".to_owned()),
            (false, Some(_)) => Err("`id`: is there, but records before this one have none".into()),
            (true, Some(_)) | (false, None) => Ok(record),
        }
    }

    fn estimate(&self) -> Of {
        let Lines { number, bytes, .. } = &self.lines;
        let Some(size) = self.size else { return Of::Unknown };
        let lines = u128::from(*number) * u128::from(size) / u128::from((*bytes).max(1));
        u64::try_from(lines).map_or(Of::Unknown, Of::About)
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::runtime(format!("cannot read on, and nothing was kept: {error}"))
}
