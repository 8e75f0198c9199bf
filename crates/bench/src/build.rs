//! The release binary of petstore, as users build it.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::console::note;

/// The root of the workspace that this program was built from.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Builds the release binary by the README's own flags. It lies beside this program.
pub(crate) fn petstore() -> Result<PathBuf> {
    ensure!(
        !cfg!(debug_assertions),
        "a debug build measures nothing: cargo run --release -p petstore-bench"
    );
    note("building the release binary of petstore");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--bin", "petstore"])
        .current_dir(workspace())
        .status()
        .context("cannot run cargo build")?;
    ensure!(status.success(), "cargo build failed");
    let binary = env::current_exe().context("cannot find this program")?.with_file_name("petstore");
    ensure!(binary.is_file(), "cargo build made no {}", binary.display());
    Ok(binary)
}
