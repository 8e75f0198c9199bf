//! The commands `store …`, `export` and `import`.

use std::{ffi::OsString, fmt, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::{
    examples,
    keys::ListForm,
    store_arg::{StoreArg, StoreArgs},
};
use crate::failure::Failure;

/// What to do with a whole store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a store into an empty one, or go on with a copy that was cut off.
    ///
    /// Animals keep their identifiers; API keys and the idempotency records that still count are
    /// copied too. A target that holds anything else is refused.
    #[command(after_help = examples::STORE)]
    Copy(BothStores),
    /// Compare two stores and name the first difference.
    #[command(after_help = examples::STORE)]
    Verify(BothStores),
    /// Move a store to another one while services work on it.
    ///
    /// Copies the animals, API keys and idempotency records, follows what is added meanwhile, and lets the
    /// target decide. Running services take part by themselves. Each step is durable: a command that was
    /// stopped or killed is run again. docs/MOVING.md explains it.
    #[command(after_help = examples::STORE_MOVE)]
    Move(MoveArgs),
}

/// Two stores, and how far the one is moved to the other.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) stores: BothStores,
    /// Do this step alone [default: follow, flip as soon as the target has caught up, and follow on].
    #[arg(long, value_name = "STEP", conflicts_with = "status")]
    pub(crate) step: Option<MoveStep>,
    /// Show where the move stands, and change nothing.
    #[arg(long)]
    pub(crate) status: bool,
    /// How the status is shown.
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub(crate) output: ListForm,
}

/// A step of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MoveStep {
    /// Begin or resume it, and copy from the store that decides until a signal stops it.
    Follow,
    /// Catch up, and let the target decide.
    Flip,
    /// Catch up, and let the source decide again.
    Back,
    /// End it: the store that decides stays, and the other one takes no more writes.
    Finish,
}

/// Two stores.
#[derive(Debug, Args)]
pub(crate) struct BothStores {
    /// The store to read, which must exist
    #[arg(
        long,
        value_name = "URL",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) from: StoreArg<true>,
    /// The store to write or to compare with
    #[arg(
        long,
        value_name = "URL",
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
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

impl FormatArgs {
    /// The format of a file that is read: by its name, unless it was given.
    pub(crate) fn for_input(&self, file: &FileArg) -> Format {
        self.format.or_else(|| Format::named_by(file)).unwrap_or(Format::Ndjson)
    }

    /// The format of a file that is written. A name that promises another one is refused.
    pub(crate) fn for_output(&self, file: &FileArg) -> Result<Format, Failure> {
        let given = self.format.or_else(|| Format::named_by(file));
        match (given, file.extension()) {
            (Some(format), _) => Ok(format),
            (None, None) => Ok(Format::Ndjson),
            (None, Some(end)) => Err(Failure::usage(format!(
                "no format is known by the end '.{end}'; use .ndjson, .jsonl or .csv, or say which \
                 format with --format"
            ))),
        }
    }
}

impl Format {
    /// The format that the end of a file's name stands for.
    fn named_by(file: &FileArg) -> Option<Self> {
        match file.extension()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }
}

/// Writes down every animal of a store.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Where to; '-' is standard output.
    #[arg(value_name = "FILE|-", default_value = "-", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    #[command(flatten)]
    format: FormatArgs,
    /// Replace FILE if it is there.
    #[arg(long)]
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
    format: FormatArgs,
    /// Leave bad lines out, instead of refusing the whole file for them.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Make the store if there is none.
    #[arg(long)]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl ExportArgs {
    /// Where to write, and in which format.
    pub(crate) fn target(&self) -> Result<(FileArg, Format), Failure> {
        let file = FileArg::new(&self.file);
        let format = self.format.for_output(&file)?;
        Ok((file, format))
    }
}

impl ImportArgs {
    /// What to read, and in which format.
    pub(crate) fn source(&self) -> (FileArg, Format) {
        let file = FileArg::new(&self.file);
        let format = self.format.for_input(&file);
        (file, format)
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

    fn extension(&self) -> Option<String> {
        match self {
            Self::Standard => None,
            Self::Path(path) => path.extension().map(|end| end.to_string_lossy().into_owned()),
        }
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
