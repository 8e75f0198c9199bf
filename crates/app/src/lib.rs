//! The animal store service as a program: configuration, wiring and commands.
//!
//! [`App`] runs every command (`petstore --help` lists them) with the stores that are registered in it. The binary
//! `petstore` has SQLite, PostgreSQL, etcd and memory. A team with a store of its own has a `main` like this one, and no
//! fork:
//!
//! ```
//! use std::{fmt, process::ExitCode, sync::Arc};
//!
//! use petstore::{App, BoxError, OpenOptions, OpenStore, StoreDriver, StoreLocation};
//! # use petstore_memory::MemoryStore as MyStore;
//!
//! /// The kind of store that a team registers.
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
//! /// The place of one store.
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
//! `docs/ADAPTERS.md` leads from an empty folder to such a program. Its worked example,
//! `docs/examples/adapter`, is compiled and tested with every change.
//!
//! Exit codes: 0 done (a drained stop too), 1 failed, 2 wrong usage, 78 a store that `serve` cannot use until somebody
//! changes something. A command that fails prints one line on stderr.
//!
//! # Where things are
//! `commands` has a file for each command: its flags and what it does. `serve` is the service, and `serve/config` its
//! flags, which are the settings. `cli` joins the commands and reads settings from variables and files. `stores` has
//! the kinds of store that are known (the built-in ones and a team's own), the arguments that name one, and how a
//! command uses one. `system` has the clock, signals, files, the console and the log.
//! This is the one crate that knows every adapter; it holds no rule of the domain.

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
pub use petstore_storage::{Finding, Severity, Upgrade, UpgradeMode, UpgradeStep};
pub use stores::driver::{
    BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
    StoreNotFound,
};
