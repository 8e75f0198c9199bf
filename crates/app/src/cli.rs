//! The command line.

mod conformance;
mod keys;
mod listen_address;
mod moving;
mod openapi;
mod refusal;
mod serve;
mod service_url;
mod values;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand, error::ErrorKind};

pub(crate) use self::{
    conformance::ConformanceArgs,
    keys::{KeysCommand, RevokeTarget},
    listen_address::ListenAddress,
    moving::{BothStores, ExportArgs, FileArg, Format, ImportArgs, StoreCommand},
    openapi::DeploymentArgs,
    serve::{LogFormat, ServeArgs},
};
use crate::{
    console::{Console, Output as _, stdout_failed},
    failure::Failure,
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
    /// Make, list, revoke and roll the API keys of a store.
    Keys {
        /// What to do with them.
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Copy a whole store into another, and compare two.
    Store {
        /// What to do with them.
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Write down every animal of a store.
    Export(ExportArgs),
    /// Add animals that are written down, all or none.
    Import(ImportArgs),
    /// Check the storage contract on throw-away stores of the same kind as URL.
    Conformance(ConformanceArgs),
    /// Print the OpenAPI document of a deployment.
    Openapi(DeploymentArgs),
}

/// Reads the arguments and the environment.
pub(crate) fn parse(args: &[OsString]) -> Result<Command, clap::Error> {
    Cli::try_parse_from(args).map(|cli| cli.command)
}

/// Answers with help if that was asked for, or says in one line what is wrong.
pub(crate) fn explain(error: &clap::Error, args: &[OsString]) -> Result<ExitCode, Failure> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        Console.answer(&text).map_err(|error| stdout_failed(&error))?;
        return Ok(ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        Console.note(text.trim_end());
        return Ok(ExitCode::from(2));
    }
    Err(Failure::usage(refusal::one_line(error, args, &Cli::command())))
}
