//! A disk that hangs when a test says so, and that notes what is synchronised.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::trouble::Trouble;

/// What is preloaded into a process; see there.
const LIBRARY: &str = include_str!("disk.c");

/// The disk as the processes see it that have [`environment`](Self::environment).
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    pub(crate) fn new() -> Result<Self, Trouble> {
        let folder = TempDir::new().map_err(|error| format!("no folder: {error}"))?;
        compile(folder.path())?;
        Ok(Self(folder))
    }

    /// What a process must have in its environment.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let library = self.0.path().join("disk.so");
        [("LD_PRELOAD", library), ("PETSTORE_TEST_DISK", self.0.path().to_owned())]
    }

    /// From now on each read of a file called `petstore.db` hangs.
    ///
    /// # Panics
    /// The file that says so cannot be made.
    #[expect(clippy::unwrap_used, reason = "a test that cannot have what it needs has failed")]
    pub fn hang(&self) {
        fs::write(self.0.path().join("hang"), "").unwrap();
    }

    /// Lets the reads that hang go on, and all others.
    ///
    /// # Panics
    /// It does not hang.
    #[expect(clippy::unwrap_used, reason = "a test that cannot have what it needs has failed")]
    pub fn resume(&self) {
        fs::remove_file(self.0.path().join("hang")).unwrap();
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
        let text = fs::read_to_string(self.0.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Compiles the library with the C compiler, which building SQLite needs anyway.
fn compile(folder: &Path) -> Result<(), Trouble> {
    let [source, library] = ["disk.c", "disk.so"].map(|name| folder.join(name));
    fs::write(&source, LIBRARY).map_err(|error| format!("cannot write a file: {error}"))?;
    let mut command = Command::new("cc");
    command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source).arg("-ldl");
    let output = command.output().map_err(|error| format!("cannot run cc: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("cc failed: {}", said.trim())) }
}
