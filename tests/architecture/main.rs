//! Holds the shape of the workspace: which crate may know which, where things lie, and what documents say of it.
//!
//! Every check is a function over data, from what is there to what is wrong with it. So each can
//! be shown something forbidden, and be seen to report it.

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

/// The workspace as cargo sees it.
static WORKSPACE: LazyLock<Metadata> =
    LazyLock::new(|| MetadataCommand::new().no_deps().other_options(offline()).exec().unwrap());

fn offline() -> Vec<String> {
    vec!["--offline".to_owned()]
}

/// Path of a file or folder of the repository.
fn path(relative: &str) -> PathBuf {
    WORKSPACE.workspace_root.join(relative).into()
}

/// Text of a file of the repository.
fn text(relative: &str) -> String {
    fs::read_to_string(path(relative)).unwrap()
}
