//! Rules for the workspace: allowed dependencies and imports, the place of files, comments, and true documents.
//!
//! Most checks are functions from data to a list of faults, so that a test can also pass forbidden data.

#![expect(clippy::unwrap_used, reason = "tests")]

mod arrows;
mod circles;
mod comments;
mod documents;
mod layout;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde::Deserialize;

/// The workspace, as `cargo metadata` describes it.
#[derive(Deserialize)]
struct Workspace {
    workspace_root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Clone, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Deserialize)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency.
    kind: Option<String>,
    optional: bool,
    features: Vec<String>,
}

impl Dependency {
    fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

static WORKSPACE: LazyLock<Workspace> = LazyLock::new(|| {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
});

/// Returns the path of a file or folder of the repository.
fn path(relative: &str) -> PathBuf {
    WORKSPACE.workspace_root.join(relative)
}

/// Returns the text of a file of the repository.
fn text(relative: &str) -> String {
    fs::read_to_string(path(relative)).unwrap()
}

/// Returns the Rust sources below a folder, with their paths.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() && !entry.ends_with("target") {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&entry).unwrap();
            found.push((entry, source));
        }
    }
    found
}

/// Returns whether a source file has only tests, by its path.
fn is_test(file: &Path) -> bool {
    let file = file.strip_prefix(path("")).unwrap_or(file);
    file.iter().any(|part| ["tests", "tests.rs", "schedules.rs"].iter().any(|it| part == *it))
}
