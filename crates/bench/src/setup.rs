//! The input of every report: the binaries, the size of the measurement and a temporary folder.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{build, cli::Options};

/// The size of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of rounds of each server.
    pub(crate) rounds: usize,
    /// The duration of a round, in seconds.
    pub(crate) seconds: u32,
    /// The number of threads of the load generator: half of the processors.
    pub(crate) threads: usize,
}

/// The input of every report.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The measured petstore: the last `--binary`, or a new build.
    pub(crate) binary: PathBuf,
    /// The text after "profile" in the report: `release`, `dist`, or `of a given binary`.
    pub(crate) built: &'static str,
    /// The first of two `--binary`, which is the baseline.
    pub(crate) older: Option<PathBuf>,
    pub(crate) effort: Effort,
    /// The numbers of connections, one row each.
    pub(crate) connections: Vec<usize>,
    folder: TempDir,
}

impl Setup {
    /// Builds petstore if no binary is given, with the profile `release` if `quickly`, else with `dist`.
    pub(crate) fn new(options: &Options, quickly: bool) -> Result<Self> {
        let profile = if quickly { "release" } else { "dist" };
        let built = if options.binary.is_empty() { profile } else { "of a given binary" };
        let (older, binary) = match &options.binary[..] {
            [] => (None, build::petstore(profile)?),
            [only] => (None, only.clone()),
            [older, newer] => (Some(older.clone()), newer.clone()),
            _ => bail!("--binary can be given twice at most"),
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let effort = Effort {
            rounds: options.rounds.unwrap_or(if options.short { 3 } else { 5 }).max(1),
            seconds: options.seconds,
            threads: (processors / 2).max(1),
        };
        let connections = options.connections.clone();
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        Ok(Self { binary, built, older, effort, connections, folder })
    }

    /// Returns the temporary folder of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a folder inside [`folder`](Self::folder).
    pub(crate) fn new_folder(&self) -> Result<TempDir> {
        tempfile::tempdir_in(self.folder()).context("cannot make a temporary folder")
    }
}
