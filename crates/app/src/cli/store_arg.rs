//! Arguments that name a store. What they may be is known only when the program runs: the registered
//! stores read them.

use std::{any::TypeId, fmt, str::FromStr, sync::Arc};

use clap::{Arg, Args, Command};

use crate::{
    driver::{Problem, StoreLocation},
    stores::Registry,
};

/// The store where none is named.
const DEFAULT: &str = "sqlite:petstore.db";

/// A store that was named, and whether it outlasts the process.
#[derive(Clone)]
pub(crate) struct StoreArg(pub(crate) Arc<dyn StoreLocation>, pub(crate) bool);

impl fmt::Debug for StoreArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreArg({})", self.0)
    }
}

/// The parser of an argument until [`with_stores`] replaces it.
impl FromStr for StoreArg {
    type Err = &'static str;

    fn from_str(_: &str) -> Result<Self, &'static str> {
        Err("no store is registered")
    }
}

/// The store that a command works on.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where the catalogue is
    #[arg(long)]
    pub(crate) store: StoreArg,
}

/// Gives every argument that names a store its parser, its lines of help, and its default. Only the store that is
/// served may end with the process.
pub(super) fn with_stores(command: Command, stores: &Arc<Registry>) -> Command {
    let serves = command.get_arguments().any(|arg| arg.get_id() == "next-store");
    command
        .mut_args(|arg| {
            let must_last = !serves || arg.get_id() != "store";
            with_parser(arg, stores, must_last)
        })
        .mut_subcommands(|inner| with_stores(inner, stores))
}

fn with_parser(arg: Arg, stores: &Arc<Registry>, must_last: bool) -> Arg {
    if arg.get_value_parser().type_id() != TypeId::of::<StoreArg>() {
        return arg;
    }
    let registry = Arc::clone(stores);
    let parse = move |url: &str| {
        let (location, is_lasting) = registry.parse(url, must_last)?;
        Ok::<_, Problem>(StoreArg(location, is_lasting))
    };
    let lines = stores.help(must_last);
    let help = arg.get_help().map_or(lines.clone(), |help| format!("{help}:\n{lines}"));
    let has_default = arg.get_id() == "store" && stores.parse(DEFAULT, must_last).is_ok();
    // The value may hold a password.
    let arg = arg.value_name("URL").hide_env_values(true).value_parser(parse).help(help);
    if has_default { arg.required(false).default_value(DEFAULT) } else { arg }
}
