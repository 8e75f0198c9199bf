//! The counts in the repository, `crates/bench/instructions.json`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::build::workspace;

/// The tolerated growth of a count in percent, because compilers and C libraries differ.
const TOLERANCE: f64 = 10.0;
/// The command that replaces the counts.
const RENEW: &str = "cargo run --release -p petstore-bench -- --instructions --accept";

/// The number of instructions of a request without SHA-256, by path.
#[derive(Debug, Default)]
pub(super) struct Counts(pub(super) BTreeMap<String, u64>);

impl Counts {
    /// Reads the counts in the repository.
    pub(super) fn read() -> Result<Self> {
        let text = fs::read(path()).context("cannot read the counts")?;
        serde_json::from_slice(&text).map(Self).context("cannot read the counts")
    }

    /// Writes the counts to the repository.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.0)? + "\n";
        fs::write(path(), text).context("cannot write the counts")
    }

    /// Fails if a path exceeds the tolerance, or has no count in the repository.
    pub(super) fn compare(&self, repository: &Self) -> Result<()> {
        let mut faults = Vec::new();
        for (path, count) in &self.0 {
            match repository.0.get(path).map(|known| growth(*count, *known)) {
                Some(growth) if growth <= TOLERANCE => {}
                Some(growth) => {
                    faults.push(format!("'{path}' takes {growth:.1} % more instructions"));
                }
                None => faults.push(format!("'{path}' has no count in the repository")),
            }
        }
        ensure!(
            faults.is_empty(),
            "{}; {TOLERANCE} % more are tolerated. If the growth is wanted, run {RENEW}, and commit the file with the \
             reason",
            faults.join(", ")
        );
        Ok(())
    }
}

/// Returns by how many percent `count` is above `known`.
pub(super) fn growth(count: u64, known: u64) -> f64 {
    (count as f64 / known as f64 - 1.0) * 100.0
}

fn path() -> PathBuf {
    workspace().join("crates/bench/instructions.json")
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use crate::{build::workspace, number::whole};

    fn counts(paths: &[(&str, u64)]) -> Counts {
        Counts(paths.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect())
    }

    #[test]
    fn a_path_above_the_tolerance_fails() {
        let repository = counts(&[("list", 1000)]);
        counts(&[("list", 1099)]).compare(&repository).unwrap();
        counts(&[("list", 500)]).compare(&repository).unwrap();
        let error = counts(&[("list", 1101)]).compare(&repository).unwrap_err().to_string();
        assert!(error.contains("'list' takes 10.1 % more") && error.contains("--accept"));
        assert!(counts(&[("list", 1000), ("get", 1)]).compare(&repository).is_err());
    }

    #[test]
    fn the_document_shows_the_counts_of_the_repository() {
        let document = workspace().join("docs/PERFORMANCE.md");
        let document = std::fs::read_to_string(document).unwrap();
        let table = document.split("<!-- begin: instructions -->").nth(1).unwrap();
        let rows = table.lines().filter(|line| line.ends_with("% |"));
        let known = rows.map(|row| row.split('|').nth_back(2).unwrap().trim().to_owned());
        let mut known: Vec<_> = known.collect();
        let mut counts: Vec<_> =
            Counts::read().unwrap().0.values().map(|&it| whole(it as f64)).collect();
        known.sort();
        counts.sort();
        assert_eq!(known, counts);
    }
}
