//! The command line.

mod config_file;
mod refusal;
mod settings;
pub(crate) mod values;

#[cfg(test)]
pub(crate) mod tests;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, error::ErrorKind};
use clap_complete::Shell;

pub(crate) use self::settings::{ConfigCommand, Sources, unknown_variables};
use crate::{
    commands::{
        backup::BackupArgs, export::ExportArgs, healthcheck::HealthcheckArgs, import::ImportArgs,
        keys::KeysCommand, store::StoreCommand, upgrade::UpgradeArgs,
    },
    serve::{DeploymentArgs, ServeArgs},
    stores::{self, Registry, StoreArgs},
    system::{Console, Failure, Output as _},
};

/// The examples of `--help`.
const EXAMPLES: &str = include_str!("cli/examples.txt");

/// The animal store service: lists, adds and fetches animals as JSON over HTTP.
#[derive(Parser)]
#[command(name = "petstore", bin_name = "petstore", version)]
pub(crate) enum Command {
    /// Run the service
    Serve(Box<ServeArgs>),
    /// Create, list, revoke and roll the API keys of a store
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Copy a whole store into another, compare two, and move one while it is in use
    #[command(subcommand)]
    Store(StoreCommand),
    /// Write every animal of a store to a file
    Export(ExportArgs),
    /// Add the animals of a file in batches; run it again to continue after an interruption
    Import(ImportArgs),
    /// Copy a store into a file, also while the store is in use
    ///
    /// The copy shows the store at one moment, and is verified before the file gets its name. No writer waits for the
    /// copy.
    Backup(BackupArgs),
    /// Restore a backup into a store that does not exist yet
    ///
    /// Checks the backup first, like 'petstore check'. A SQLite store appears whole or not at all; a store of another
    /// kind cannot be used before it is complete. If the command was killed, run it again.
    #[cfg(feature = "sqlite")]
    Restore(crate::commands::restore::RestoreArgs),
    /// Check the rows, the settings and the indexes of a store
    ///
    /// Writes nothing, and works while the store is in use. Names each fault, and exits with 1 if there is one.
    Check(StoreArgs),
    /// Upgrade the schema of a store to the schema of this release
    ///
    /// 'petstore serve' upgrades by itself; the other commands, except backup, refuse an older schema. Each step names
    /// the releases that can use the store after it; the service may run if its release is one of them. A SQLite file
    /// is first copied to its name with .before-upgrade. See docs/OPERATING.md.
    Upgrade(UpgradeArgs),
    /// Check the settings of the service
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document of a deployment
    Openapi(DeploymentArgs),
    /// Ask the service on this machine, over plain HTTP, whether it is ready: exit code 0 if it is
    Healthcheck(HealthcheckArgs),
    /// Print the completions of commands and flags for a shell
    Completions {
        /// Shell of the completions
        shell: Shell,
    },
    /// Write the manual pages of the program and of each command
    Man {
        /// Existing folder for the pages petstore.1, petstore-serve.1 and so on
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// Returns the definition of all commands and flags, for `stores`.
pub(crate) fn definition(stores: &Arc<Registry>) -> clap::Command {
    let definition = with_examples(Command::command(), "", "");
    let definition = stores::with_stores(definition, stores);
    let settings = settings::settings(&definition);
    settings::with_sources(definition, &settings)
}

/// Adds examples to `command`, whose parents are `path`, and to its subcommands. A subcommand without examples inherits
/// its parent's.
fn with_examples(command: clap::Command, path: &str, inherited: &str) -> clap::Command {
    let path = format!("{path} {}", command.get_name());
    let own = EXAMPLES.split("\n#").find_map(|part| part.strip_prefix(&format!("{path}\n")));
    let examples = own.unwrap_or(inherited).trim_end();
    let command = command.after_help(format!("Examples:\n{examples}"));
    command.mut_subcommands(|inner| with_examples(inner, &path, examples))
}

/// Parses the command line, with settings from the environment and files.
pub(crate) fn parse(sources: &Sources) -> Result<Command, clap::Error> {
    let mut definition = sources.definition.clone();
    let mut matches = definition.try_get_matches_from_mut(&sources.words)?;
    let command = Command::from_arg_matches_mut(&mut matches);
    command.map_err(|error| error.format(&mut definition))
}

/// Prints the help or the version if clap returned it as `error`. If a subcommand is missing, prints the help on stderr
/// and returns exit code 2. Otherwise returns the error as one line.
pub(crate) fn explain(error: clap::Error, sources: &Sources) -> Result<ExitCode, Failure> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        Console.show(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        Console.note(text.trim_end());
        return Ok(ExitCode::from(2));
    }
    Err(Failure::usage(refusal::one_line(error, sources)))
}
