//! The command line.

pub(crate) mod config_file;
mod examples;
mod moving;
mod serve;
mod settings;
pub(crate) mod store_arg;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use clap::{
    Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

pub(crate) use self::{
    moving::{BothStores, MoveArgs, ReleaseArgs, StoreCommand},
    serve::{DeploymentArgs, LogFormat, ServeArgs},
    settings::{ConfigCommand, Sources, shown},
    values::variable,
};
use crate::{
    backup::BackupArgs,
    check::CheckArgs,
    console::{Console, Output as _},
    export::ExportArgs,
    failure::{Failure, quotable},
    healthcheck::HealthcheckArgs,
    import::ImportArgs,
    keys::KeysCommand,
    manual::{CompletionsArgs, ManArgs},
    stores::Registry,
    upgrade::UpgradeArgs,
};

/// The animal store service: lists animals, adds one, fetches one, as JSON over HTTP.
#[derive(Debug, Parser)]
#[command(name = "petstore", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
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
    /// Add the animals of a file, all or none.
    Import(ImportArgs),
    /// Copy a store into a file, while it may be in use.
    ///
    /// The copy is the store at one moment. It is read again before it gets its name. No writer of the
    /// store waits for it.
    Backup(BackupArgs),
    /// Examine a store: its rows, its settings, its indexes.
    ///
    /// Nothing is written. The store may be in use. What is broken is named, and the exit code is 1.
    Check(CheckArgs),
    /// Upgrade the schema of a store to that of this release.
    ///
    /// 'petstore serve' does so by itself; the other commands refuse an older schema. The service may be
    /// running: each step says which releases can go on using the store. A SQLite file is first copied to
    /// its name with .before-upgrade. docs/UPGRADING.md explains it.
    Upgrade(UpgradeArgs),
    /// Show the settings of the service.
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
    let definition = examples::with_examples(Cli::command(), "", "");
    let definition = store_arg::with_stores(definition, stores);
    let settings = settings::settings(&definition);
    settings::with_sources(definition, &settings)
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
        Console.print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        Console.note(text.trim_end());
        return Ok(ExitCode::from(2));
    }
    Err(Failure::usage(one_line(error, &sources.definition, &sources.path)))
}

/// Condenses clap's several lines: the message, its tips, and where the help is.
fn one_line(error: clap::Error, definition: &clap::Command, path: &[String]) -> String {
    // Only a definition that is built knows how its arguments are shown.
    let mut root = definition.clone();
    root.build();
    let command = path.iter().try_fold(&root, |command, name| command.find_subcommand(name));
    let mut args = command.into_iter().flat_map(clap::Command::get_arguments);
    let invalid = string_of(&error, ContextKind::InvalidArg).unwrap_or_default();
    let is_secret = args.any(|arg| arg.is_hide_env_values_set() && arg.to_string() == invalid);
    let message = message(&with_harmless_quotes(error, is_secret));
    let names = path.iter().fold("petstore".to_owned(), |names, name| format!("{names} {name}"));
    format!("{message}; try '{names} --help'")
}

/// Says why a value of `arg` is refused that `source` gives.
fn refusal_of_value(error: clap::Error, arg: &Arg, source: &str) -> String {
    let error = with_harmless_quotes(error, arg.is_hide_env_values_set());
    let message = message(&error);
    match string_of(&error, ContextKind::InvalidArg) {
        Some(flag) => message.replace(&format!("'{flag}'"), source),
        None => message,
    }
}

/// Joins the paragraphs before the usage.
fn message(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    text.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the error with quotes that neither break the line nor give a password away. The value of a secret is
/// never quoted.
fn with_harmless_quotes(mut error: clap::Error, is_secret: bool) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
    {
        let Some(text) = string_of(&error, kind) else { continue };
        let hidden = is_secret && kind == ContextKind::InvalidValue;
        let shown = if hidden { "…".to_owned() } else { quotable(text) };
        if shown != text {
            error.insert(kind, ContextValue::String(shown));
            // A tip repeats what it is about.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}

fn string_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
