//! Controls callgrind, which counts the instructions of a process.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::generator::output;

/// A part of the names of all functions that compute SHA-256.
const SHA: &str = "sha2::";

/// A process under callgrind.
#[derive(Debug)]
pub(super) struct Callgrind {
    process: String,
    output: PathBuf,
    folder: TempDir,
    /// The number of files that callgrind has written.
    files: usize,
}

/// The number of instructions of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) total: u64,
    /// The instructions of SHA-256.
    pub(super) sha: u64,
}

impl Cost {
    pub(super) fn without_sha(self) -> u64 {
        self.total - self.sha
    }
}

/// Adds callgrind's arguments. Returns the path of its output.
pub(super) fn arguments(valgrind: &mut Command, folder: &Path) -> PathBuf {
    let output = folder.join("callgrind.out");
    valgrind.args(["--tool=callgrind", "--quiet", "--fair-sched=yes"]);
    valgrind.arg(format!("--callgrind-out-file={}", output.display()));
    output
}

impl Callgrind {
    pub(super) fn new(process: u32, output: PathBuf, folder: TempDir) -> Self {
        Self { process: process.to_string(), output, folder, files: 0 }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sets the counts to zero.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.control("--zero")
    }

    /// Returns the mean cost of the `count` requests since [`Self::begin`].
    pub(super) fn end(&mut self, count: usize) -> Result<Cost> {
        self.control("--dump")?;
        self.files += 1;
        let file = format!("{}.{}", self.output.display(), self.files);
        let text = fs::read_to_string(file).context("callgrind wrote no counts")?;
        let Cost { total, sha } = parse(&text).context("cannot read the counts of callgrind")?;
        let count = count as u64;
        Ok(Cost { total: total / count, sha: sha / count })
    }

    fn control(&self, action: &str) -> Result<()> {
        output(Command::new("callgrind_control").args([action, &self.process])).map(drop)
    }
}

/// Parses a callgrind file. Lines with counts follow a line with the number and the name of their function,
/// `fn=(12) main`. A function that occurs again has only its number, `fn=(12)`. Skips the line after `calls=`, which
/// repeats the counts of the called function.
fn parse(text: &str) -> Option<Cost> {
    let mut of_sha = BTreeSet::new();
    let (mut total, mut sha, mut counts, mut is_call) = (None, 0, false, false);
    for line in text.lines() {
        let (key, value) = line.split_once(['=', ':']).unwrap_or_default();
        match key {
            "fn" | "cfn" => {
                let (number, name) = value.split_once(' ').unwrap_or((value, ""));
                if name.contains(SHA) {
                    of_sha.insert(number);
                }
                if key == "fn" {
                    counts = of_sha.contains(number);
                }
            }
            "calls" => is_call = true,
            "totals" => total = value.trim().parse().ok(),
            "" => {
                let count = line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
                if let Some(count) = count.filter(|_| counts && !is_call) {
                    sha += count;
                }
                is_call = false;
            }
            _ => {}
        }
    }
    Some(Cost { total: total?, sha })
}

#[cfg(test)]
mod tests {
    use super::{Cost, parse};

    #[test]
    fn the_cost_of_sha_is_the_sum_of_its_own_functions() {
        let text = "version: 1\nevents: Ir\n\nfn=(1) main\n1 10\ncfn=(2) sha2::compress256\ncalls=3 0\n+1 340\n\
            +2 5\n\nfn=(2)\n7 300\n* 30\ncfn=(3) memcpy\ncalls=1 0\n+1 10\n\nfn=(3)\n1 10\n\ntotals: 355\n";
        assert_eq!(parse(text), Some(Cost { total: 355, sha: 330 }));
        assert_eq!(parse("fn=(1) main\n1 10\n"), None);
    }
}
