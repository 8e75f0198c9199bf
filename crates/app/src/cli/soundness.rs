//! The commands `check`, `backup` and `upgrade`.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser as _},
};

use super::keys::StoreArgs;

/// Examines a store.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Upgrades the schema of a store.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also take a step that cannot run beside an older release while others use the store.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

fn not_standard_output(name: OsString) -> Result<PathBuf, &'static str> {
    if name == "-" {
        return Err("a backup is read again, so it cannot go to standard output; name a file");
    }
    Ok(name.into())
}

/// Copies a store that may be in use into a file.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to make; one that is there is never replaced.
    #[arg(
        long,
        value_name = "FILE",
        value_parser = OsStringValueParser::new().try_map(not_standard_output)
    )]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
