//! The counts that the repository keeps, in `crates/bench/instructions.json`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    build::workspace,
    console::note,
    failure::{Context as _, Failure, Outcome},
};

/// Tells how to keep new counts.
const RENEW: &str =
    "cargo run --release -p petstore-bench -- --instructions --accept, and commit the file";

/// The file's content.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    /// By how many percent a count may differ: compilers and C libraries do a little.
    tolerance_percent: f64,
    /// For each path, instructions of a request.
    instructions: BTreeMap<String, u64>,
}

impl Kept {
    pub(super) fn read() -> Outcome<Self> {
        let path = path();
        let text = fs::read(&path).cannot(format_args!("read {}", path.display()))?;
        serde_json::from_slice(&text).cannot(format_args!("read {}", path.display()))
    }

    pub(super) fn write(&self) -> Outcome<()> {
        let path = path();
        let text = serde_json::to_string_pretty(self).cannot("write the counts")?;
        fs::write(&path, text + "\n").cannot(format_args!("write {}", path.display()))?;
        note(format_args!("kept in {}", path.display()));
        Ok(())
    }

    pub(super) fn of(&self, path: &str) -> Option<u64> {
        self.instructions.get(path).copied()
    }

    /// The same tolerance with other counts.
    pub(super) fn with(&self, counted: &[(&str, u64)]) -> Self {
        let instructions = counted.iter().map(|(path, count)| ((*path).to_owned(), *count));
        Self { instructions: instructions.collect(), ..self.clone() }
    }

    /// Fails if a path takes more instructions than it may, or is not kept.
    pub(super) fn compare(&self, counted: &[(&str, u64)]) -> Outcome<()> {
        let tolerance = self.tolerance_percent;
        let mut faults = Vec::new();
        for (path, count) in counted {
            match change(*count, self.of(path)) {
                None => faults.push(format!("'{path}' has no kept count")),
                Some(change) if change > tolerance => {
                    faults.push(format!("'{path}' takes {change:.1} % more instructions"));
                }
                Some(change) if change < -tolerance => note(format_args!(
                    "'{path}' takes {:.1} % fewer instructions than kept; keep the new count: {RENEW}",
                    -change
                )),
                Some(_) => {}
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        let faults = faults.join(", ");
        Err(Failure::new(format!(
            "{faults}; {tolerance} % more are tolerated. If that is the price of something wanted: {RENEW}"
        )))
    }
}

/// By how many percent a count differs from the one that is kept.
pub(super) fn change(count: u64, kept: Option<u64>) -> Option<f64> {
    kept.filter(|kept| *kept > 0).map(|kept| (count as f64 / kept as f64 - 1.0) * 100.0)
}

fn path() -> PathBuf {
    workspace().join("crates/bench/instructions.json")
}

#[cfg(test)]
mod tests {
    use super::Kept;

    fn kept() -> Kept {
        let instructions = [("list".to_owned(), 1000)].into();
        Kept { tolerance_percent: 10.0, instructions }
    }

    #[test]
    fn a_path_that_costs_more_than_is_tolerated_fails() {
        assert!(kept().compare(&[("list", 1099)]).is_ok());
        assert!(kept().compare(&[("list", 500)]).is_ok());
        let failure = kept().compare(&[("list", 1101)]).unwrap_err().to_string();
        assert!(failure.contains("'list' takes 10.1 % more") && failure.contains("--accept"));
        assert!(kept().compare(&[("list", 1000), ("get", 1)]).is_err());
    }

    #[test]
    fn accepted_counts_replace_the_old_ones() {
        let renewed = kept().with(&[("get", 7)]);
        assert_eq!((renewed.of("get"), renewed.of("list")), (Some(7), None));
    }

    #[test]
    fn the_kept_file_can_be_read_and_has_every_path() {
        let kept = Kept::read().unwrap();
        assert!(super::super::PATHS.iter().all(|path| kept.of(path).is_some()));
    }
}
