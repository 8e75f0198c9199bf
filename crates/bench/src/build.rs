//! Builds the petstore binary.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::console::note;

/// Returns the root of the workspace of this program.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Builds the binary as the README does, but with `profile`. Returns the path of the binary in the target folder of
/// this program.
pub(crate) fn petstore(profile: &str) -> Result<PathBuf> {
    ensure!(
        !cfg!(debug_assertions),
        "a debug build measures nothing: cargo run --release -p petstore-bench"
    );
    note(format_args!("building petstore with the profile {profile}"));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--profile", profile, "--locked", "--bin", "petstore"])
        .current_dir(workspace())
        .status()
        .context("cannot run cargo build")?;
    ensure!(status.success(), "cargo build failed");
    let program = env::current_exe().context("cannot find this program")?;
    let folder = program.parent().context("this program is in no folder")?;
    let binary = folder.with_file_name(profile).join("petstore");
    ensure!(binary.is_file(), "cargo build made no {}", binary.display());
    Ok(binary)
}
