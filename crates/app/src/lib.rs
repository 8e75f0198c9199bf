//! The animal store service as a program: configuration, wiring and commands.
//!
//! [`App`] runs every command (`serve`, `keys`, `store`, `import`, `export`, `backup`, `check`,
//! `upgrade`, `config`, `openapi`) with the stores that are registered in it. The binary `petstore` has SQLite, PostgreSQL
//! and memory; a team with a store of its own has a `main` like this one, and no fork:
//!
//! ```
//! use std::{fmt, process::ExitCode, sync::Arc};
//!
//! use petstore::{App, OpenMode, OpenStore, Problem, StoreDriver, StoreLocation};
//! # use petstore_memory::MemoryStore as MyStore;
//!
//! /// What a team registers: how its URLs are read.
//! const MY_STORES: StoreDriver = StoreDriver {
//!     schemes: &["mine"],
//!     usage: "mine:NAME",
//!     summary: "our own store",
//!     is_lasting: true,
//!     parse: |url| match url.strip_prefix("mine:") {
//!         Some(name) if !name.is_empty() => Ok(Arc::new(MyLocation(name.to_owned()))),
//!         _ => Err("no name is given; use mine:NAME".into()),
//!     },
//! };
//!
//! /// Where one store is: how it is shown and opened.
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
//!     async fn open(&self, _: OpenMode) -> Result<OpenStore, Problem> {
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
//! changes something. Whatever fails says so in one line on stderr.
//!
//! # Where things are
//! Each command has a file of its name: what it does, and its flags (`moving` has `store …`, and `serve/config` the
//! flags of `serve`, which are the settings). `cli` joins the commands and reads settings from variables and files;
//! `driver` is what a kind of store says about itself, `stores` the kinds of store that are known (the built-in ones,
//! and a team's own) and the arguments that name one, `store` how a command uses one, and `console` what people read.
//! This is the one crate that knows every adapter; it holds no rule of the domain.

mod app;
mod backup;
mod check;
mod cli;
mod clock;
mod console;
mod driver;
mod export;
mod failure;
mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod healthcheck;
mod import;
mod keys;
mod logging;
mod manual;
mod moving;
mod process;
mod progress;
mod records;
mod restore;
mod serve;
mod store;
mod stores;
mod upgrade;

pub use app::App;
pub use driver::{BackupWatch, OpenMode, OpenStore, Problem, StoreDriver, StoreLocation};
pub use petstore_domain::{Upgrade, UpgradeMode, UpgradeStep};
pub use petstore_http::{Figure, FigureKind};
