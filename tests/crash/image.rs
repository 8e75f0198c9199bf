//! One possible state of a store's files after a crash.

use std::{collections::BTreeMap, fs, path::Path};

use proptest::{
    prelude::RngExt as _,
    test_runner::{RngAlgorithm, TestRng},
};

use super::{
    history::{File, History, apply, write},
    write_log::Change,
};

/// The unit that a disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// A random generator that yields the same numbers in each run.
pub(crate) struct Random(TestRng);

impl Random {
    pub(crate) fn new() -> Self {
        Self(TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    }

    /// Returns a number from 0 to `limit` - 1.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    fn flip(&mut self) -> bool {
        self.0.random()
    }
}

/// The effect of a crash on the changes that were not synchronized.
#[derive(Clone, Copy, Debug)]
enum Crash {
    /// All changes are lost.
    Drops,
    /// No change is lost.
    Keeps,
    /// Some changes are lost. The other changes are whole and in order.
    Forgets,
    /// Some changes are lost, and some sectors of the other writes. The rest takes effect in a random order.
    Tears,
}

/// The files after a crash.
pub(crate) struct Image(BTreeMap<String, Vec<u8>>);

impl Image {
    /// Lets the machine crash after `history`, in a random way.
    pub(crate) fn new(history: &History, random: &mut Random) -> Self {
        let crash = [Crash::Drops, Crash::Keeps, Crash::Forgets, Crash::Tears][random.below(4)];
        let files = history.files.iter();
        let files =
            files.filter_map(|(name, file)| Some((name.clone(), content(file, crash, random)?)));
        Self(files.collect())
    }

    /// Writes the files into an empty folder.
    pub(crate) fn write_to(&self, folder: &Path) {
        for (name, content) in &self.0 {
            fs::write(folder.join(name), content).unwrap();
        }
    }
}

fn content(file: &File, crash: Crash, random: &mut Random) -> Option<Vec<u8>> {
    let mut content = file.durable.clone();
    let mut pending: Vec<&Change> = file.pending.iter().map(|(_, change)| change).collect();
    if matches!(crash, Crash::Tears) {
        for last in (1..pending.len()).rev() {
            pending.swap(last, random.below(last + 1));
        }
    }
    for change in pending {
        let kept = match crash {
            Crash::Drops => false,
            Crash::Keeps => true,
            Crash::Forgets | Crash::Tears => random.flip(),
        };
        match (crash, change) {
            _ if !kept => {}
            (Crash::Tears, Change::Write { offset, data }) => {
                tear(content.get_or_insert_default(), *offset, data, random);
            }
            (_, change) => apply(&mut content, change),
        }
    }
    content
}

/// Writes random sectors of `data`.
fn tear(content: &mut Vec<u8>, offset: usize, data: &[u8], random: &mut Random) {
    let mut at = offset;
    let mut rest = data;
    while !rest.is_empty() {
        let sector = rest.split_off(..rest.len().min(SECTOR - at % SECTOR)).unwrap();
        if random.flip() {
            write(content, at, sector);
        }
        at += sector.len();
    }
}
