//! The input of every report: the binaries, the size of the measurement, a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{build, cli::Options};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds of each side.
    pub(crate) rounds: usize,
    /// Seconds of a round.
    pub(crate) seconds: u32,
    /// Threads of the load generator: half of the processors.
    pub(crate) threads: usize,
}

/// The input of every report.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The petstore under measurement, the last one that was named.
    pub(crate) binary: PathBuf,
    /// The way it was built, for the reader.
    pub(crate) built: &'static str,
    /// The one that it is compared with, if two were named.
    pub(crate) older: Option<PathBuf>,
    pub(crate) effort: Effort,
    /// Numbers of connections, one row each.
    pub(crate) connections: Vec<usize>,
    folder: TempDir,
}

impl Setup {
    /// Builds petstore if no binary was named: in a quick way, or as it is packaged.
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

    /// The folder for everything; it is removed at the end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder for one use.
    pub(crate) fn new_folder(&self) -> Result<TempDir> {
        tempfile::tempdir_in(self.folder()).context("cannot make a temporary folder")
    }
}
