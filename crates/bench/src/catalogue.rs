//! Filled stores. `petstore import` fills them, so that the benchmark does not depend on a store's schema.

use std::{
    fs::{self, OpenOptions},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, bail};

use crate::{console::note, server};

/// Returns the animal `number` as one line of JSON without a line ending. Of ten consecutive animals, four are
/// available, three are pending, two are sold, and one animal has no status.
pub(crate) fn animal(number: u64) -> String {
    // Every ninth name is not ASCII: the service needs more time for such a name.
    let first = if number % 9 == 8 { "Zoë" } else { "Bella" };
    let name = format!("{first} {number}");
    let mut pet = serde_json::json!({ "name": name, "categoryId": number % 50 });
    match number % 10 {
        0 | 2 | 4 | 7 => pet["status"] = "available".into(),
        1 | 5 | 9 => pet["status"] = "pending".into(),
        3 | 8 => pet["status"] = "sold".into(),
        _ => {}
    }
    pet.to_string()
}

/// A filled SQLite store. Each server under measurement gets a copy of its own.
#[derive(Debug)]
pub(crate) struct Seed {
    path: PathBuf,
    pub(crate) animals: u64,
}

impl Seed {
    /// Returns the store with `animals` animals in `folder`. Creates and fills the store if it does not exist yet.
    pub(crate) fn new(binary: &Path, folder: &Path, animals: u64) -> Result<Self> {
        let path = folder.join(format!("seed-{animals}.db"));
        if path.exists() {
            return Ok(Self { path, animals });
        }
        note(format_args!("filling a store with {animals} animals"));
        let mut command = server::petstore(binary);
        command.args(["import", "-", "--create", "--store", &url(&path)]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start petstore import")?;
        let written = child.stdin.take().map(|stdin| {
            let mut stdin = BufWriter::new(stdin);
            (0..animals).try_for_each(|number| writeln!(stdin, "{}", animal(number)))
        });
        let output = child.wait_with_output().context("cannot wait for petstore import")?;
        if !output.status.success() || !matches!(written, Some(Ok(()))) {
            bail!("petstore import failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(Self { path, animals })
    }

    /// Copies the store to `folder`, and returns the URL of the copy. Syncs the copy, because a later write-back would
    /// disturb the measurement.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<String> {
        let path = folder.join("store.db");
        fs::copy(&self.path, &path).context("cannot copy a store")?;
        let copy = OpenOptions::new().write(true).open(&path);
        copy.and_then(|copy| copy.sync_all()).context("cannot write the copy of a store")?;
        Ok(url(&path))
    }
}

/// Returns the URL of the SQLite store at `path`.
pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}
