//! The commands `store …`, `export` and `import`.

use std::{ffi::OsString, fmt, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::{keys::StoreArgs, store_arg::StoreArg};

/// What to do with a whole store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a store into an empty one, or go on with a copy that was cut off.
    ///
    /// Animals keep their identifiers; API keys and the idempotency records that still count are
    /// copied too. A target that holds anything else is refused.
    Copy(BothStores),
    /// Compare two stores and name the first difference.
    Verify(BothStores),
}

/// Two stores.
#[derive(Debug, Args)]
pub(crate) struct BothStores {
    /// The store to read, which must exist
    #[arg(
        long,
        value_name = "URL",
        env = "PETSTORE_FROM",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) from: StoreArg<true>,
    /// The store to write or to compare with
    #[arg(
        long,
        value_name = "URL",
        env = "PETSTORE_TO",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) to: StoreArg<true>,
}

/// How animals are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values under a header (RFC 4180).
    Csv,
}

/// How animals are written down, as it was asked for.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// How animals are written down [default: csv if FILE ends in .csv, else ndjson].
    #[arg(long, value_name = "FORMAT", env = "PETSTORE_FORMAT")]
    format: Option<Format>,
}

impl FormatArgs {
    pub(crate) fn for_file(&self, file: &FileArg) -> Format {
        let csv = |path: &PathBuf| path.extension().is_some_and(|end| end == "csv");
        let guess = match file {
            FileArg::Path(path) if csv(path) => Format::Csv,
            FileArg::Path(_) | FileArg::Standard => Format::Ndjson,
        };
        self.format.unwrap_or(guess)
    }
}

/// Writes down every animal of a store.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Where to; '-' is standard output.
    #[arg(value_name = "FILE|-", default_value = "-", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Replace FILE if it is there.
    #[arg(long, env = "PETSTORE_FORCE")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Adds animals that are written down.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Where from; '-' is standard input.
    #[arg(value_name = "FILE|-", default_value = "-", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Leave bad lines out, instead of refusing the whole file for them.
    #[arg(long, env = "PETSTORE_SKIP_BAD")]
    pub(crate) skip_bad: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl ExportArgs {
    pub(crate) fn file(&self) -> FileArg {
        FileArg::new(&self.file)
    }
}

impl ImportArgs {
    pub(crate) fn file(&self) -> FileArg {
        FileArg::new(&self.file)
    }
}

/// A file, or the standard stream in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileArg {
    Standard,
    Path(PathBuf),
}

impl FileArg {
    fn new(word: &OsString) -> Self {
        if word == "-" { Self::Standard } else { Self::Path(PathBuf::from(word)) }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        })
    }
}
