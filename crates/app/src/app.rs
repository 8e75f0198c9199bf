//! The program: the registered stores, and the commands that work on them.

use std::{
    env, ffi::OsString, num::NonZero, pin::Pin, process::ExitCode, sync::Arc, thread,
    time::Duration,
};

use tokio::runtime::Builder;

use crate::{
    cli::{self, Command, ConfigCommand, Sources},
    commands::{backup, check, export, healthcheck, import, keys, manual, store, upgrade},
    serve,
    stores::{self, Registry, StoreDriver},
    system::{Console, Failure, Output as _, log, process},
};

/// The time that remaining tasks have to stop when the program ends.
const LEFT_OVERS: Duration = Duration::from_secs(1);

/// tokio's environment variable for the number of worker threads.
const WORKERS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// The program `petstore`, with the stores that are registered in it.
///
/// `--store sqlite:petstore.db` is the default where SQLite is registered; otherwise `--store` must
/// be given. Help and messages call the program `petstore`, whatever its file is called.
#[derive(Debug, Default)]
pub struct App {
    stores: Registry,
}

impl App {
    /// Creates a program without stores.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `memory:`, and `sqlite:PATH`, `postgres://…` and `etcd://…` if the features `sqlite`, `postgres` and
    /// `etcd` of this crate are on, as they are by default.
    #[must_use]
    pub fn with_built_in_stores(mut self) -> Self {
        self.stores.0.extend(stores::BUILT_IN);
        self
    }

    /// Registers a kind of store. [`run`](Self::run) fails if a scheme is registered twice.
    #[must_use]
    pub fn with_store(mut self, driver: StoreDriver) -> Self {
        self.stores.0.push(driver);
        self
    }

    /// Runs the command that `args` name, and returns its exit code. The first of `args` is the name of the program.
    pub fn run(self, args: impl IntoIterator<Item = OsString>) -> ExitCode {
        process::disable_core_dumps();
        let args: Vec<OsString> = args.into_iter().collect();
        // `config check` reports every failure as wrong usage: an edit of the settings corrects it.
        let checks = args.get(1..3).is_some_and(|words| words == ["config", "check"]);
        self.try_run(&args).unwrap_or_else(|failure| {
            Console.note(&format!("petstore: {failure}"));
            if checks { Failure::usage(failure).exit_code() } else { failure.exit_code() }
        })
    }

    fn try_run(self, args: &[OsString]) -> Result<ExitCode, Failure> {
        self.stores.check()?;
        let definition = cli::definition(&Arc::new(self.stores));
        let sources = Sources::read(args, &definition)?;
        match cli::parse(&sources) {
            Ok(command) => execute(command, &sources).map(|()| ExitCode::SUCCESS),
            Err(error) => cli::explain(error, &sources),
        }
    }
}

fn execute(command: Command, sources: &Sources) -> Result<(), Failure> {
    let unknown = cli::unknown_variables(&sources.definition, env::vars_os().map(|(name, _)| name));
    if !matches!(command, Command::Serve(_)) {
        for line in &unknown {
            Console.note(&format!("petstore: {line}"));
        }
    }
    match command {
        Command::Serve(args) => {
            let config = serve::Config::read(*args)?;
            // Dropped last, so that every earlier event is written.
            let _log = log::start(config.args.log_format, config.args.log.clone())?;
            for line in &unknown {
                tracing::warn!("{line}");
            }
            run_to_end(Box::pin(serve::run(config, sources.passwords.clone())))
        }
        Command::Keys(command) => run_to_end(Box::pin(keys::run(command))),
        Command::Store(command) => run_to_end(Box::pin(store::run(command))),
        Command::Export(args) => run_to_end(Box::pin(export::run(args))),
        Command::Import(args) => run_to_end(Box::pin(import::run(args))),
        Command::Backup(args) => run_to_end(Box::pin(backup::run(args))),
        #[cfg(feature = "sqlite")]
        Command::Restore(args) => run_to_end(Box::pin(crate::commands::restore::run(args))),
        Command::Check(args) => run_to_end(Box::pin(check::run(args))),
        Command::Upgrade(args) => run_to_end(Box::pin(upgrade::run(args))),
        Command::Config(ConfigCommand::Check(flags)) => {
            serve::Config::read(*flags)?.check()?;
            Console.print("the settings are sound: 'petstore serve' accepts them\n")
        }
        Command::Openapi(args) => Console.show(&petstore_http::openapi_document(&args.settings())),
        Command::Healthcheck(args) => run_to_end(Box::pin(healthcheck::run(args))),
        Command::Completions { shell } => manual::completions(&sources.definition, shell),
        Command::Man { folder } => manual::pages(&sources.definition, &folder),
    }
}

/// Runs `work` on one thread more than there are processors, unless [`WORKERS_VARIABLE`] sets the number of threads. A
/// disk that hangs may block as many threads as there are processors; the additional thread answers requests that need
/// no read. `work` is boxed so that this function is compiled once, not for each command.
fn run_to_end(work: Pin<Box<dyn Future<Output = Result<(), Failure>>>>) -> Result<(), Failure> {
    let mut builder = Builder::new_multi_thread();
    if env::var_os(WORKERS_VARIABLE).is_none_or(|value| value.is_empty()) {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        builder.worker_threads(processors + 1);
    }
    let runtime =
        builder.enable_all().build().map_err(Failure::context("cannot start the runtime"))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVERS);
    done
}
