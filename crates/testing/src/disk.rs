//! A disk that hangs when a test says so, and that notes what is synchronised.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use crate::{preload::compile, trouble::Trouble};

/// What is preloaded into a process; see there.
const LIBRARY: &str = include_str!("disk.c");

/// The disk as the processes see it that have [`environment`](Self::environment).
#[derive(Debug)]
pub struct Disk {
    folder: TempDir,
    library: PathBuf,
}

impl Disk {
    pub(crate) fn new() -> Result<Self, Trouble> {
        let folder = TempDir::new().map_err(|error| format!("no folder: {error}"))?;
        let library = compile(LIBRARY, folder.path())?;
        Ok(Self { folder, library })
    }

    /// What a process must have in its environment.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let library = self.library.clone();
        [("LD_PRELOAD", library), ("PETSTORE_TEST_DISK", self.folder.path().to_owned())]
    }

    /// From now on each read of a file called `petstore.db` hangs.
    ///
    /// # Panics
    /// The file that says so cannot be made.
    #[expect(clippy::unwrap_used, reason = "a test that cannot have what it needs has failed")]
    pub fn hang(&self) {
        fs::write(self.folder.path().join("hang"), "").unwrap();
    }

    /// Lets the reads that hang go on, and all others.
    ///
    /// # Panics
    /// It does not hang.
    #[expect(clippy::unwrap_used, reason = "a test that cannot have what it needs has failed")]
    pub fn resume(&self) {
        fs::remove_file(self.folder.path().join("hang")).unwrap();
    }

    /// How many reads have hung until now.
    #[must_use]
    pub fn hung_reads(&self) -> usize {
        self.lines("reads").len()
    }

    /// The files that were synchronised until now, in this order, as often as they were.
    #[must_use]
    pub fn syncs(&self) -> Vec<PathBuf> {
        let lines = self.lines("syncs");
        lines.iter().filter_map(|line| Some(line.split_once(' ')?.1.into())).collect()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
