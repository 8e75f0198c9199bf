//! The animal store service as a program: configuration, wiring and commands.
//!
//! A command reads its words in `cli`, opens a `store`, and talks to people through
//! `console`. This is the one crate that knows every adapter; it holds no rule of the domain.
//!
//! Exit codes: 0 done (a drained stop too), 1 failed, 2 wrong usage. Whatever fails says so in one
//! line on stderr.

mod cli;
mod clock;
mod conformance;
mod console;
mod export;
mod failure;
mod file_limit;
mod import;
mod keys;
mod logging;
mod moving;
mod progress;
mod records;
mod runtime;
mod secret;
mod serve;
mod signals;
mod store;
mod store_url;

use std::{ffi::OsString, process::ExitCode};

use crate::{
    cli::{Command, DeploymentArgs},
    console::{Console, Output, stdout_failed},
    failure::Failure,
};

/// Runs the program with these arguments, the program's own name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let done = match cli::parse(&args) {
        Ok(command) => execute(command).map(|()| ExitCode::SUCCESS),
        Err(error) => cli::explain(&error, &args),
    };
    done.unwrap_or_else(|failure| {
        Console.note(&format!("petstore: {failure}"));
        failure.exit_code()
    })
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => {
            let (config, log) = serve::Config::read(*args)?;
            // Dropped last, so that the log of everything before is written.
            let _log = logging::start(log)?;
            runtime::run(serve::run(config))
        }
        Command::Keys { command } => runtime::run(keys::run(command)),
        Command::Store { command } => runtime::run(moving::run(command)),
        Command::Export(args) => runtime::run(export::run(args)),
        Command::Import(args) => runtime::run(import::run(args)),
        Command::Conformance(args) => runtime::run(conformance::run(args)),
        Command::Openapi(args) => openapi(&args),
    }
}

fn openapi(args: &DeploymentArgs) -> Result<(), Failure> {
    let document = petstore_http::openapi_document(&args.settings());
    Console.answer(&document).map_err(|error| stdout_failed(&error))
}
