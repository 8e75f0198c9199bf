//! The commands `check` and `backup`.

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
