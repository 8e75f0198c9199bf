//! A log of all changes that a server makes to its files, written by a preloaded library.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::support::{preload::compile, server::Launch, store::Store};

const LIBRARY: &str = include_str!("write_log.c");

/// One change or synchronization of a file, or of the folder.
#[derive(Debug)]
pub(crate) struct Record {
    /// The offset in the log, in bytes, at which the record ends.
    pub(crate) end: usize,
    /// The file's name in the store's folder; `None` for the folder itself.
    pub(crate) file: Option<String>,
    pub(crate) change: Change,
}

/// The operation, with its data.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write {
        offset: usize,
        data: Vec<u8>,
    },
    Truncate {
        length: usize,
    },
    Unlink,
    /// A completed sync. If the first `records` records of the log contain changes of this file, they are on the disk.
    Sync {
        records: usize,
    },
}

/// The log of one server.
pub(crate) struct WriteLog {
    /// Contains the log and the library.
    folder: TempDir,
    library: PathBuf,
}

impl WriteLog {
    /// Compiles the library. The log does not exist before [`launch`](Self::launch).
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = compile(LIBRARY, folder.path());
        Self { folder, library }
    }

    /// Builds the command of a server on `store` that writes this log.
    pub(crate) fn launch(&self, store: &Store) -> Launch {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        Launch::on(store)
            .env("LD_PRELOAD", &text(&self.library))
            .env("WRITE_LOG", &text(&self.path()))
            .env("WRITE_LOG_FOLDER", &text(&store.folder()))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Returns a function that reads the length of the log, in bytes.
    pub(crate) fn length(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let path = self.path();
        move || usize::try_from(fs::metadata(&path).unwrap().len()).unwrap()
    }

    /// Returns every record of the server on `store`, in order.
    pub(crate) fn records(&self, store: &Store) -> Vec<Record> {
        let log = fs::read(self.path()).unwrap();
        let mut rest = &log[..];
        let mut records = Vec::new();
        while let Some(mut record) = read(&mut rest, &store.folder()) {
            record.end = log.len() - rest.len();
            records.push(record);
        }
        records
    }
}

/// Reads the next record. Returns `None` at the end, or if a kill has cut the record off.
fn read(rest: &mut &[u8], folder: &Path) -> Option<Record> {
    let mut bytes = *rest;
    let kind = bytes.split_off_first()?;
    let number = u64::from_ne_bytes(*bytes.split_off(..8)?.first_chunk()?);
    let number = usize::try_from(number).unwrap();
    let mut length = || Some(u32::from_ne_bytes(*bytes.split_off(..4)?.first_chunk()?) as usize);
    let (path, data) = (length()?, length()?);
    let path = Path::new(std::str::from_utf8(bytes.split_off(..path)?).unwrap());
    let data = bytes.split_off(..data)?.to_vec();
    *rest = bytes;
    let change = match kind {
        b'w' => Change::Write { offset: number, data },
        b't' => Change::Truncate { length: number },
        b'u' => Change::Unlink,
        b's' => Change::Sync { records: number },
        other => panic!("unknown kind of record: {other}"),
    };
    let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
    let file = (!name.is_empty()).then(|| name.to_owned());
    Some(Record { end: 0, file, change })
}
