//! The program: the registered stores, and the commands that work on them.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use crate::{
    backup, check,
    cli::{self, Command, ConfigCommand, DeploymentArgs, Sources},
    console::{Console, Output as _, stdout_failed},
    core_dumps,
    driver::StoreDriver,
    export,
    failure::Failure,
    healthcheck, import, keys, logging, manual, moving,
    registry::Registry,
    runtime, serve, stores, upgrade,
};

/// The program `petstore`, with the stores that are registered in it.
///
/// `--store sqlite:petstore.db` is the default where SQLite is registered; otherwise `--store` must
/// be given. Help and messages call the program `petstore`, whatever its file is called.
#[derive(Debug, Default)]
pub struct App {
    stores: Registry,
}

impl App {
    /// A program that knows no store yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `sqlite:PATH`, `postgres://…` and `memory:`.
    #[must_use]
    pub fn with_built_in_stores(mut self) -> Self {
        stores::register(&mut self.stores);
        self
    }

    /// Registers a kind of store. A scheme that is registered twice is refused by
    /// [`run`](Self::run).
    #[must_use]
    pub fn with_store(mut self, driver: impl StoreDriver) -> Self {
        self.stores.add(driver);
        self
    }

    /// Runs the command that these arguments name; the program's own name comes first.
    pub fn run(self, args: impl IntoIterator<Item = OsString>) -> ExitCode {
        core_dumps::disable();
        let args: Vec<OsString> = args.into_iter().collect();
        self.try_run(&args).unwrap_or_else(|failure| {
            Console.note(&format!("petstore: {failure}"));
            failure.exit_code()
        })
    }

    fn try_run(self, args: &[OsString]) -> Result<ExitCode, Failure> {
        self.stores.check()?;
        let definition = cli::definition(&Arc::new(self.stores));
        let settings = Sources::read(args, &definition)?;
        match cli::parse(&settings, args) {
            Ok(command) => execute(command, &definition).map(|()| ExitCode::SUCCESS),
            Err(error) => cli::explain(error, args, &definition),
        }
    }
}

fn execute(command: Command, definition: &clap::Command) -> Result<(), Failure> {
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
        Command::Backup(args) => runtime::run(backup::run(args)),
        Command::Check(args) => runtime::run(check::run(args)),
        Command::Upgrade(args) => runtime::run(upgrade::run(args)),
        Command::Config { command: ConfigCommand::Show(show) } => {
            // What `serve` would refuse is refused here too.
            serve::Config::read(show.settings)?;
            Console.answer(&show.table).map_err(|error| stdout_failed(&error))
        }
        Command::Openapi(args) => openapi(&args),
        Command::Healthcheck(args) => runtime::run(healthcheck::run(args)),
        Command::Completions(args) => manual::completions(definition, args),
        Command::Man(args) => manual::pages(definition, &args),
    }
}

fn openapi(args: &DeploymentArgs) -> Result<(), Failure> {
    let document = petstore_http::openapi_document(&args.settings());
    Console.answer(&document).map_err(|error| stdout_failed(&error))
}
