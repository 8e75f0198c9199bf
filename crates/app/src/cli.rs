//! The command line.

mod config_file;
mod refusal;
mod settings;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};

pub(crate) use self::settings::{ConfigCommand, Sources, shown, unknown_variables};
use crate::{
    commands::{
        backup::BackupArgs,
        check::CheckArgs,
        export::ExportArgs,
        healthcheck::HealthcheckArgs,
        import::ImportArgs,
        keys::KeysCommand,
        manual::{CompletionsArgs, ManArgs},
        store::StoreCommand,
        upgrade::UpgradeArgs,
    },
    serve::{DeploymentArgs, ServeArgs},
    stores::{self, Registry},
    system::{
        console::{Console, Output as _},
        failure::Failure,
    },
};

/// The examples of `--help`.
const EXAMPLES: &str = include_str!("cli/examples.txt");

/// The help of `--to`, of each command on two stores.
const TARGETS: [(&str, &str); 3] = [
    ("copy", "The store to write, which is empty or part of an earlier copy"),
    ("verify", "The store to compare with"),
    ("move", "The store that takes its place, which is empty or not there"),
];

/// The animal store service: lists animals, adds one, fetches one, as JSON over HTTP.
#[derive(Debug, Parser)]
#[command(name = "petstore", bin_name = "petstore", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the service.
    Serve(Box<ServeArgs>),
    /// Create, list, revoke and roll the API keys of a store.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Copy a whole store into another, compare two, and move one while it is in use.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Write every animal of a store to a file.
    Export(ExportArgs),
    /// Add the animals of a file, batch by batch; run again, it goes on where it was.
    Import(ImportArgs),
    /// Copy a store into a file, while it may be in use.
    ///
    /// The copy is the store at one moment. It is read again before it gets its name. No writer of the
    /// store waits for it.
    Backup(BackupArgs),
    /// Make a store of a backup, where there is none yet.
    ///
    /// The backup is examined first, as by 'petstore check'. A SQLite store appears whole or not at all, and any
    /// other is not open before it holds everything: a command that was killed is run again.
    #[cfg(feature = "sqlite")]
    Restore(crate::commands::restore::RestoreArgs),
    /// Examine a store: its rows, its settings, its indexes.
    ///
    /// Nothing is written. The store may be in use. What is broken is named, and the exit code is 1.
    Check(CheckArgs),
    /// Upgrade the schema of a store to that of this release.
    ///
    /// 'petstore serve' upgrades by itself; the other commands refuse an older schema. Each step says which releases
    /// can use the store after it; the service may be running if its release is one of them. A SQLite file is first
    /// copied to its name with .before-upgrade. docs/OPERATING.md explains it.
    Upgrade(UpgradeArgs),
    /// Show or check the settings of the service.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document of a deployment.
    Openapi(DeploymentArgs),
    /// Ask the service on this machine whether it is ready: exit code 0 if it is.
    ///
    /// It speaks plain HTTP.
    Healthcheck(HealthcheckArgs),
    /// Print what a shell needs to complete commands and flags.
    Completions(CompletionsArgs),
    /// Write the manual pages: one of the program and one of each command.
    Man(ManArgs),
}

/// Returns all commands and flags, for these stores.
pub(crate) fn definition(stores: &Arc<Registry>) -> clap::Command {
    let definition = with_examples(Cli::command(), "", "");
    let definition = TARGETS.iter().fold(definition, |definition, (command, help)| {
        definition.mut_subcommand("store", |store| {
            store.mut_subcommand(command, |command| command.mut_arg("to", |to| to.help(*help)))
        })
    });
    let definition = stores::with_stores(definition, stores);
    let settings = settings::settings(&definition);
    settings::with_sources(definition, &settings)
}

/// Adds the examples of a command, whose name follows `path`, and of its own commands. One without its own has those of
/// the command above.
fn with_examples(command: clap::Command, path: &str, inherited: &str) -> clap::Command {
    let path = format!("{path} {}", command.get_name());
    let own = EXAMPLES.split("\n#").find_map(|part| part.strip_prefix(&format!("{path}\n")));
    let examples = own.unwrap_or(inherited).trim_end();
    let command = command.after_help(format!("Examples:\n{examples}"));
    command.mut_subcommands(|inner| with_examples(inner, &path, examples))
}

/// Parses the words and the environment.
pub(crate) fn parse(sources: &Sources, words: &[OsString]) -> Result<Command, clap::Error> {
    let mut definition = sources.definition.clone();
    let mut matches = definition.try_get_matches_from_mut(words)?;
    let cli = Cli::from_arg_matches_mut(&mut matches);
    cli.map(|cli| cli.command).map_err(|error| error.format(&mut definition))
}

/// Answers with help if that was asked for, or says in one line what is wrong.
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
    Err(Failure::usage(refusal::one_line(error, &sources.definition, &sources.path)))
}
