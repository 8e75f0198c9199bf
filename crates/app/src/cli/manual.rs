//! The flags of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// The flags of `completions`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

/// The flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages: petstore.1, petstore-serve.1 and so on.
    #[arg(long, value_name = "FOLDER", env = "PETSTORE_TO")]
    pub(crate) to: PathBuf,
}
