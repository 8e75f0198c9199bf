//! Rules for the workspace: allowed dependencies, the place of files, and true documents.
//!
//! Every check is a function from observed data to a list of faults. A test can therefore pass forbidden data and check
//! the report.

#![expect(clippy::unwrap_used, reason = "tests")]

mod arrows;
mod circles;
mod comments;
mod documents;
mod forwarders;
mod layout;
mod mocks;

use std::{fs, path::PathBuf, sync::LazyLock};

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
