//! The registered kinds of store, by URL scheme, and the command-line arguments that name a store. A built-in store is
//! registered by a [`StoreDriver`], like a team's own store. The driver of `memory:` is in this file.

#[cfg(any(feature = "etcd", feature = "postgres", feature = "sqlite"))]
mod background;
mod driver;
mod opening;
#[cfg(any(feature = "etcd", feature = "postgres"))]
mod servers;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(test)]
pub(crate) mod tests;

use std::{any::TypeId, collections::BTreeSet, fmt, str::FromStr, sync::Arc};

use async_trait::async_trait;
use clap::{Arg, Args, Command};
use petstore_memory::MemoryStore;

pub use self::driver::{
    BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
    StoreNotFound,
};
pub(crate) use self::opening::{
    not_open, not_open_but, require_folder, require_undamaged, with_opened, with_store,
};
#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::in_file;
use crate::system::Failure;

/// The built-in kinds of store whose features are on.
pub(crate) const BUILT_IN: &[StoreDriver] = &[
    #[cfg(feature = "sqlite")]
    sqlite::DRIVER,
    #[cfg(feature = "postgres")]
    servers::POSTGRES,
    #[cfg(feature = "etcd")]
    servers::ETCD,
    MEMORY,
];

/// The URL scheme and the name of each built-in store that is behind a Cargo feature.
const OPTIONAL: [(&str, &str); 4] = [
    ("sqlite", "SQLite"),
    ("postgres", "PostgreSQL"),
    ("postgresql", "PostgreSQL"),
    ("etcd", "etcd"),
];

/// The default of `--store`.
const DEFAULT: &str = "sqlite:petstore.db";

/// The registered kinds of store, in the order in which `--help` lists them.
#[derive(Debug, Default)]
pub(crate) struct Registry(pub(crate) Vec<StoreDriver>);

impl Registry {
    /// Refuses a scheme that is registered twice.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut known = BTreeSet::new();
        let mut schemes = self.0.iter().flat_map(|driver| driver.schemes);
        schemes.find(|scheme| !known.insert(**scheme)).map_or(Ok(()), |scheme| {
            Err(Failure::runtime(format!(
                "two stores are registered under the scheme '{scheme}:'; register one of them"
            )))
        })
    }

    /// Parses the URL of a store. With `must_last`, refuses a store whose data ends with the process.
    pub(crate) fn parse(&self, url: &str, must_last: bool) -> Result<StoreArg, BoxError> {
        let (scheme, _) = url.split_once(':').unwrap_or_default();
        let driver = self.0.iter().find(|driver| driver.schemes.contains(&scheme));
        let driver = driver.ok_or_else(|| {
            let missing = OPTIONAL.iter().find(|(optional, _)| *optional == scheme);
            let why = missing.map(|(_, name)| format!("this program was built without {name}; "));
            format!("{}a store is {}", why.unwrap_or_default(), self.usages(false))
        })?;
        let location = (driver.parse)(url)?;
        if must_last && !driver.is_persistent {
            let usages = self.usages(true);
            return Err(format!("a store in memory ends with this command; use {usages}").into());
        }
        Ok(StoreArg { location, is_persistent: driver.is_persistent })
    }

    /// Returns one line of `--help` for each kind of store. If `lasting`, leaves out a store whose data ends with the
    /// process.
    pub(crate) fn help(&self, lasting: bool) -> String {
        let lines = self.listed(lasting);
        let lines = lines.map(|driver| format!("- {} ({})", driver.usage, driver.summary));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the forms of the URLs: `A, B or C`.
    fn usages(&self, lasting: bool) -> String {
        let usages: Vec<_> = self.listed(lasting).map(|driver| driver.usage).collect();
        match usages.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => usages.concat(),
        }
    }

    fn listed(&self, lasting: bool) -> impl Iterator<Item = &StoreDriver> {
        self.0.iter().filter(move |driver| !lasting || driver.is_persistent)
    }
}

/// The value of an argument that names a store.
#[derive(Clone)]
pub(crate) struct StoreArg {
    pub(crate) location: Arc<dyn StoreLocation>,
    /// `true` if the data outlasts the process.
    pub(crate) is_persistent: bool,
}

/// A placeholder for the parser, which clap requires. [`with_stores`] replaces the parser, because stores are
/// registered at run time.
impl FromStr for StoreArg {
    type Err = &'static str;

    fn from_str(_: &str) -> Result<Self, &'static str> {
        Err("no store is registered")
    }
}

/// The store that a command works on.
#[derive(Clone, Args)]
pub(crate) struct StoreArgs {
    /// Store of the catalogue
    #[arg(long)]
    pub(crate) store: StoreArg,
}

/// Adds the parser and the help to every argument that names a store, and the default to `--store`. Only `serve`
/// accepts a store whose data ends with the process.
pub(crate) fn with_stores(command: Command, stores: &Arc<Registry>) -> Command {
    let serves = command.get_arguments().any(|arg| arg.get_id() == "next-store");
    command
        .mut_args(|arg| with_parser(arg, stores, serves))
        .mut_subcommands(|inner| with_stores(inner, stores))
}

fn with_parser(arg: Arg, stores: &Arc<Registry>, serves: bool) -> Arg {
    if arg.get_value_parser().type_id() != TypeId::of::<StoreArg>() {
        return arg;
    }
    let must_last = !serves || arg.get_id() != "store";
    let registry = Arc::clone(stores);
    let parse = move |url: &str| registry.parse(url, must_last);
    let lines = stores.help(must_last);
    let help = arg.get_help().map_or(lines.clone(), |help| format!("{help}:\n{lines}"));
    let has_default = arg.get_id() == "store" && stores.parse(DEFAULT, must_last).is_ok();
    // The value may contain a password.
    let arg = arg.value_name("URL").hide_env_values(true).value_parser(parse).help(help);
    if has_default { arg.required(false).default_value(DEFAULT) } else { arg }
}

/// The driver of `memory:`.
const MEMORY: StoreDriver = StoreDriver {
    schemes: &["memory"],
    usage: "memory:",
    summary: "ends with the process",
    is_persistent: false,
    parse: |url| match url {
        "memory:" => Ok(Arc::new(Memory)),
        _ => Err("memory: takes nothing behind the colon; use memory: alone".into()),
    },
};

struct Memory;

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory:")
    }
}

#[async_trait]
impl StoreLocation for Memory {
    async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
        let store = Arc::new(MemoryStore::new());
        Ok(OpenStore::new(store.clone()).with_archive(store))
    }
}
