//! What every section works with.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{
    build,
    cli::Options,
    contest::Effort,
    failure::{Context as _, Failure, Outcome},
    generator::Generators,
    server,
};

/// Tools, places and sizes.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The petstore under measurement, the last one that was named.
    pub(crate) binary: PathBuf,
    /// The one that it is compared with, if two were named.
    pub(crate) older: Option<PathBuf>,
    pub(crate) generators: Generators,
    pub(crate) effort: Effort,
    pub(crate) connections: Vec<usize>,
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new(options: &Options) -> Outcome<Self> {
        let (older, binary) = match &options.binary[..] {
            [] => (None, build::petstore()?),
            [only] => (None, only.clone()),
            [older, newer] => (Some(older.clone()), newer.clone()),
            _ => return Err(Failure::new("--binary can be given twice at most")),
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let effort = Effort {
            rounds: options.rounds.unwrap_or(if options.short { 3 } else { 5 }).max(1),
            seconds: options.seconds.max(1).into(),
            threads: options.threads.unwrap_or(processors / 2).max(1),
        };
        let tools = build::workspace().join("target/bench-tools");
        Ok(Self {
            binary,
            older,
            generators: Generators::find(&tools, options.install_generator)?,
            effort,
            connections: if options.short { vec![64] } else { options.connections.clone() },
            folder: tempfile::tempdir().cannot("make a temporary folder")?,
        })
    }

    /// The folder for everything; it is removed at the end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder for one use.
    pub(crate) fn fresh_folder(&self) -> Outcome<TempDir> {
        tempfile::tempdir_in(self.folder()).cannot("make a temporary folder")
    }

    /// A key as the service makes them, of a store that is not under measurement.
    pub(crate) fn stranger(&self) -> Outcome<String> {
        let folder = self.fresh_folder()?;
        let store = format!("sqlite:{}", folder.path().join("other.db").display());
        let mut command = server::petstore(&self.binary);
        let output = command.args(["keys", "create", "stranger", "--store", &store]).output();
        let output = output.cannot("run petstore keys create")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let key = words.find(|word| word.starts_with("pst_"));
        key.map(str::to_owned).ok_or_else(|| Failure::new("petstore keys create printed no key"))
    }
}

/// The machine in one sentence, for whoever reads the figures later.
pub(crate) fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let commit = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .current_dir(build::workspace())
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let commit = commit.map(|commit| format!(", commit {commit}")).unwrap_or_default();
    format!("Measured on {processors} processors ({model}), Linux {}{commit}.", kernel.trim())
}
