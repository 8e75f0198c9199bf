//! The certain and the possible content of the disk at a point of the write log.

use std::collections::BTreeMap;

use super::write_log::{Change, Record};

/// A file that a crash may leave behind.
#[derive(Default)]
pub(crate) struct File {
    /// The content that is certainly on the disk; `None` if the file may be missing.
    pub(crate) durable: Option<Vec<u8>>,
    /// The later changes, with their record numbers. Each may be on the disk in whole, in part, or not at all.
    pub(crate) pending: Vec<(usize, Change)>,
}

impl File {
    /// Marks the changes of this file among the first `records` log records as certainly on the disk.
    fn sync(&mut self, records: usize) {
        let covered = self.pending.iter().take_while(|(number, _)| *number < records).count();
        for (_, change) in self.pending.drain(..covered) {
            apply(&mut self.durable, &change);
        }
    }

    /// Marks the unlinks of this file among the first `records` log records as on the disk: the folder was synced.
    fn sync_name(&mut self, records: usize) {
        let gone = self
            .pending
            .iter()
            .rposition(|(number, change)| *number < records && matches!(change, Change::Unlink));
        if let Some(gone) = gone {
            self.pending.drain(..=gone);
            self.durable = None;
        }
    }
}

/// The files of a store after the first records of a log.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) files: BTreeMap<String, File>,
    records: usize,
}

impl History {
    /// Applies the next record.
    pub(crate) fn push(&mut self, record: &Record) {
        match (&record.file, &record.change) {
            (Some(file), Change::Sync { records }) => self.file(file).sync(*records),
            (Some(file), change) => {
                let change = (self.records, change.clone());
                self.file(file).pending.push(change);
            }
            (None, Change::Sync { records }) => {
                self.files.values_mut().for_each(|file| file.sync_name(*records));
            }
            (None, change) => panic!("the folder cannot have {change:?}"),
        }
        self.records += 1;
    }

    fn file(&mut self, name: &str) -> &mut File {
        self.files.entry(name.to_owned()).or_default()
    }
}

/// Applies a whole change to a file.
pub(crate) fn apply(content: &mut Option<Vec<u8>>, change: &Change) {
    match change {
        Change::Write { offset, data } => write(content.get_or_insert_default(), *offset, data),
        Change::Truncate { length } => content.get_or_insert_default().resize(*length, 0),
        Change::Unlink => *content = None,
        Change::Sync { .. } => {}
    }
}

/// Writes at `offset`, which may be beyond the end.
pub(crate) fn write(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    content.resize(content.len().max(end), 0);
    content[offset..end].copy_from_slice(data);
}
