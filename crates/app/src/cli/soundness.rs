//! The commands `check` and `backup`.

use std::path::PathBuf;

use clap::Args;

use super::keys::StoreArgs;

/// Examines a store.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Copies a store that may be in use into a file.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to make; one that is there is never replaced.
    #[arg(long, value_name = "FILE", env = "PETSTORE_TO")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
