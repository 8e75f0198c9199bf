//! Rules for the workspace: allowed dependencies, the place of files, and true documents.
//!
//! Every check is a function from observed data to a list of faults. A test can therefore pass forbidden data and check
//! the report.

#![expect(clippy::unwrap_used, reason = "tests")]

mod arrows;
mod circles;
mod comments;
mod documents;
mod layout;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use cargo_metadata::{Metadata, MetadataCommand};

/// The workspace metadata from cargo.
static WORKSPACE: LazyLock<Metadata> =
    LazyLock::new(|| MetadataCommand::new().no_deps().other_options(offline()).exec().unwrap());

fn offline() -> Vec<String> {
    vec!["--offline".to_owned()]
}

/// Returns the path of a file or folder of the repository.
fn path(relative: &str) -> PathBuf {
    WORKSPACE.workspace_root.join(relative).into()
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

/// Returns whether a source file contains tests.
fn is_test(file: &Path) -> bool {
    let file = file.strip_prefix(path("")).unwrap_or(file);
    file.iter().any(|part| ["tests", "tests.rs", "schedules.rs"].iter().any(|it| part == *it))
}
