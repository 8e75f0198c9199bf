//! Stores full of animals, made by `petstore import`.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    console::note,
    failure::{Context as _, Failure, Outcome},
    server,
};

/// Of ten animals in a row, the status of each: four are available, three pending, two sold.
const STATUSES: [Option<&str>; 10] = [
    Some("available"),
    Some("pending"),
    Some("available"),
    Some("sold"),
    Some("available"),
    Some("pending"),
    None,
    Some("available"),
    Some("sold"),
    Some("pending"),
];

/// The animal of a number, as one line of JSON without its end.
pub(crate) fn animal(number: u64) -> String {
    let names = ["Rex", "Bella", "Luna", "Charlie", "Lucy", "Cooper", "Bailey", "Daisy", "Zoë"];
    let pick = |length: usize| usize::try_from(number).unwrap_or(0) % length;
    let mut line =
        format!(r#"{{"name":"{} {number}","categoryId":{}"#, names[pick(9)], number % 50);
    if let Some(status) = STATUSES[pick(10)] {
        let _ = write!(line, r#","status":"{status}""#);
    }
    line.push('}');
    line
}

/// Fills the store of a URL with so many animals.
pub(crate) fn fill(binary: &Path, store: &str, animals: u64) -> Outcome<()> {
    note(format_args!("filling a store with {animals} animals"));
    let mut command = server::petstore(binary);
    command.args(["import", "-", "--store", store]);
    let spawned =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.cannot("start petstore import")?;
    let written = child.stdin.take().map(|stdin| {
        let mut stdin = BufWriter::new(stdin);
        (0..animals).try_for_each(|number| writeln!(stdin, "{}", animal(number)))
    });
    let output = child.wait_with_output().cannot("wait for petstore import")?;
    if output.status.success() && matches!(written, Some(Ok(()))) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("petstore import failed: {}", said.trim())))
}

/// A filled SQLite store that is copied for whoever needs one to itself.
#[derive(Debug)]
pub(crate) struct Seed {
    path: PathBuf,
    pub(crate) animals: u64,
}

impl Seed {
    /// Makes one in `folder`.
    pub(crate) fn make(binary: &Path, folder: &Path, animals: u64) -> Outcome<Self> {
        let path = folder.join(format!("seed-{animals}.db"));
        fill(binary, &url(&path), animals)?;
        Ok(Self { path, animals })
    }

    /// A copy in `folder`. Nobody has the seed open, so its file is all of it. The copy is on the
    /// disk when this returns: writing it back would disturb what is measured next.
    pub(crate) fn copy_to(&self, folder: &Path) -> Outcome<Self> {
        let path = folder.join("store.db");
        fs::copy(&self.path, &path).cannot("copy a store")?;
        let copy = OpenOptions::new().write(true).open(&path);
        copy.and_then(|copy| copy.sync_all()).cannot("write the copy of a store to the disk")?;
        Ok(Self { path, animals: self.animals })
    }

    /// Itself as a store URL, for its only user.
    pub(crate) fn url(&self) -> String {
        url(&self.path)
    }

    /// The file's size in bytes.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len())
    }
}

/// The URL of a SQLite store at a path.
pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::animal;

    #[test]
    fn animals_are_json_with_mixed_statuses() {
        let animals: Vec<serde_json::Value> =
            (0..10).map(|number| serde_json::from_str(&animal(number)).unwrap()).collect();
        let of = |status: &str| animals.iter().filter(|animal| animal["status"] == status).count();
        assert_eq!((of("available"), of("pending"), of("sold")), (4, 3, 2));
        assert_eq!(animals[8]["name"], "Zoë 8");
    }
}
