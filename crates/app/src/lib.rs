//! The animal store service as a program: configuration, wiring and commands.
//!
//! [`App`] runs every command (`petstore --help` lists them) with the registered stores. The binary `petstore`
//! registers SQLite, PostgreSQL, etcd and memory. A team adds its own store in a `main` function like the following,
//! without a fork:
//!
//! ```
//! use std::{fmt, process::ExitCode, sync::Arc};
//!
//! use petstore::{App, BoxError, OpenOptions, OpenStore, StoreDriver, StoreLocation};
//! # use petstore_memory::MemoryStore as MyStore;
//!
//! /// The team's own kind of store.
//! const MY_STORES: StoreDriver = StoreDriver {
//!     schemes: &["mine"],
//!     usage: "mine:NAME",
//!     summary: "our own store",
//!     is_persistent: true,
//!     parse: |url| match url.strip_prefix("mine:") {
//!         Some(name) if !name.is_empty() => Ok(Arc::new(MyLocation(name.to_owned()))),
//!         _ => Err("no name is given; use mine:NAME".into()),
//!     },
//! };
//!
//! /// The location of one store: the name in its URL.
//! struct MyLocation(String);
//!
//! impl fmt::Display for MyLocation {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         write!(f, "mine:{}", self.0)
//!     }
//! }
//!
//! #[async_trait::async_trait]
//! impl StoreLocation for MyLocation {
//!     async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
//!         let store = Arc::new(MyStore::new());
//!         Ok(OpenStore::new(store.clone()).with_archive(store))
//!     }
//! }
//!
//! fn main() -> ExitCode {
//! #   let no_arguments_of_the_test = ["petstore", "keys", "list", "--store", "mine:"];
//! #   let exit = App::new().with_built_in_stores().with_store(MY_STORES)
//! #       .run(no_arguments_of_the_test.map(Into::into));
//! #   assert_eq!(exit, ExitCode::from(2));
//! #   return ExitCode::SUCCESS;
//!     App::new().with_built_in_stores().with_store(MY_STORES).run(std::env::args_os())
//! }
//! ```
//!
//! `docs/ADAPTERS.md` leads from an empty folder to such a program. CI compiles and tests its worked example,
//! `docs/examples/adapter`, with every change.
//!
//! Exit codes: 0 success (also if one signal stops `serve`), 1 failure, 2 wrong usage, 78 a store that `serve` cannot
//! use until somebody changes something. A command that fails prints one line on stderr.
//!
//! # Modules
//! - `commands`: every command except `serve`, `config` and `openapi`, with its flags and its work.
//! - `serve`: the service. `serve/config` has its flags, which are the settings.
//! - `cli`: the command line, and settings from environment variables and a file.
//! - `stores`: the kinds of store, the arguments that name a store, and how a command opens one.
//! - `system`: the clock, signals, files, the console, the log, and the failures of the program.
//!
//! No other crate depends on every adapter. This crate contains no rule of the domain.

mod app;
mod cli;
mod commands;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod serve;
mod stores;
mod system;

pub use app::App;

pub use petstore_http::{Sample, SampleKind};
pub use petstore_storage::{Finding, Severity, Step, Upgrade, UpgradeMode};
pub use stores::{
    BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
    StoreNotFound,
};
