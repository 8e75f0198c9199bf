//! A preloaded library that makes the disk of a process hang or fail, and that notes opened and synchronized files.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::preload::compile;

/// The source of the library; its first comment explains it.
const LIBRARY: &str = include_str!("disk.c");

/// A fault of a disk: the files that make operations fail, each with an error number of Linux (errno(3)).
pub(crate) type Fault = &'static [(&'static str, &'static str)];

/// Every write fails: no space is left.
pub(crate) const FULL: Fault = &[("fail-write", "28")];
/// Every write fails: an I/O error.
pub(crate) const BROKEN_WRITES: Fault = &[("fail-write", "5")];
/// Every synchronization fails: an I/O error.
pub(crate) const BROKEN_SYNCS: Fault = &[("fail-sync", "5")];
/// Every write fails, and every opening of a file for writing, as if the system had remounted the disk read-only.
pub(crate) const READ_ONLY: Fault = &[("fail-write", "30"), ("fail-open", "30")];

/// The disk of all processes that have [`environment`](Self::environment).
#[derive(Debug)]
pub(crate) struct Disk {
    folder: TempDir,
    library: PathBuf,
}

impl Disk {
    /// Makes a disk without faults, for the processes of one test.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = compile(LIBRARY, folder.path());
        Self { folder, library }
    }

    /// Returns the environment variables of a process on this disk.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let library = self.library.clone();
        [("LD_PRELOAD", library), ("TEST_DISK", self.folder.path().to_owned())]
    }

    /// Makes each read of a file called `petstore.db` hang.
    pub(crate) fn hang(&self) {
        fs::write(self.folder.path().join("hang"), "").unwrap();
    }

    /// Ends the hang: the waiting reads continue.
    pub(crate) fn resume(&self) {
        fs::remove_file(self.folder.path().join("hang")).unwrap();
    }

    /// Returns how many reads have hung until now.
    pub(crate) fn hung_reads(&self) -> usize {
        self.lines("reads").len()
    }

    /// Makes operations on the files of a store fail until [`mend`](Self::mend).
    pub(crate) fn fail(&self, fault: Fault) {
        for (name, error) in fault {
            fs::write(self.folder.path().join(name), error).unwrap();
        }
    }

    /// Ends a fault.
    pub(crate) fn mend(&self, fault: Fault) {
        for (name, _) in fault {
            fs::remove_file(self.folder.path().join(name)).unwrap();
        }
    }

    /// Returns how often a database file was opened until now.
    pub(crate) fn opens(&self) -> usize {
        self.lines("opens").len()
    }

    /// Returns the file of each synchronization until now, in order.
    pub(crate) fn syncs(&self) -> Vec<PathBuf> {
        let lines = self.lines("syncs");
        lines.iter().filter_map(|line| Some(line.split_once(' ')?.1.into())).collect()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
