//! A disk that hangs or fails on request, and records the files that a process opens and synchronizes.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::preload::compile;

/// The library that is preloaded into a process; its source explains how it works.
const LIBRARY: &str = include_str!("disk.c");

/// A kind of call that fails, with an error number of Linux (errno(3)).
#[derive(Clone, Copy, Debug)]
pub(crate) enum DiskFault {
    /// Every write fails: no space is left.
    Full,
    /// Every write fails.
    BrokenWrites,
    /// Every synchronization fails.
    BrokenSyncs,
    /// Every write fails, and so does every opening of a file for writing, as after the kernel remounted the disk
    /// read-only.
    ReadOnly,
}

impl DiskFault {
    /// The files that control the library, and their contents.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        const EIO: &str = "5";
        const ENOSPC: &str = "28";
        const EROFS: &str = "30";
        match self {
            Self::Full => &[("fail-write", ENOSPC)],
            Self::BrokenWrites => &[("fail-write", EIO)],
            Self::BrokenSyncs => &[("fail-sync", EIO)],
            Self::ReadOnly => &[("fail-write", EROFS), ("fail-open", EROFS)],
        }
    }
}

/// A disk for the processes that have [`environment`](Self::environment).
#[derive(Debug)]
pub(crate) struct Disk {
    folder: TempDir,
    library: PathBuf,
}

impl Disk {
    /// Creates a disk without faults for the processes of one test.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = compile(LIBRARY, folder.path());
        Self { folder, library }
    }

    /// Returns the environment variables that a process needs.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let library = self.library.clone();
        [("LD_PRELOAD", library), ("TEST_DISK", self.folder.path().to_owned())]
    }

    /// Makes each read of a file called `petstore.db` hang from now on.
    pub(crate) fn hang(&self) {
        fs::write(self.folder.path().join("hang"), "").unwrap();
    }

    /// Resumes the reads that hang, and lets all later reads through.
    pub(crate) fn resume(&self) {
        fs::remove_file(self.folder.path().join("hang")).unwrap();
    }

    /// Returns the number of reads that have hung until now.
    pub(crate) fn hung_reads(&self) -> usize {
        self.lines("reads").len()
    }

    /// Makes operations on the files of a store fail until [`mend`](Self::mend).
    pub(crate) fn fail(&self, fault: DiskFault) {
        for (name, error) in fault.files() {
            fs::write(self.folder.path().join(name), error).unwrap();
        }
    }

    /// Ends a fault.
    pub(crate) fn mend(&self, fault: DiskFault) {
        for (name, _) in fault.files() {
            fs::remove_file(self.folder.path().join(name)).unwrap();
        }
    }

    /// Returns how often a database file was opened until now.
    pub(crate) fn opens(&self) -> usize {
        self.lines("opens").len()
    }

    /// Returns the files that were synchronized until now, in order. A file occurs once for each synchronization.
    pub(crate) fn syncs(&self) -> Vec<PathBuf> {
        let lines = self.lines("syncs");
        lines.iter().filter_map(|line| Some(line.split_once(' ')?.1.into())).collect()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
