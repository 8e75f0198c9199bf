//! Arguments that name a store. What they may be is known only when the program runs: the registered
//! stores read them.

use std::{any::TypeId, fmt, sync::Arc};

use clap::{Arg, Args, Command};

use crate::{
    driver::{Problem, StoreLocation},
    registry::Registry,
};

/// The store where none is named.
const DEFAULT: &str = "sqlite:petstore.db";

/// A store that was named; where `LASTING`, one that outlasts the command.
#[derive(Clone)]
pub(crate) struct StoreArg<const LASTING: bool>(
    pub(crate) Arc<dyn StoreLocation>,
    /// The stores that are known.
    pub(crate) Arc<Registry>,
);

impl<const LASTING: bool> fmt::Debug for StoreArg<LASTING> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreArg({})", self.0)
    }
}

impl<const LASTING: bool> StoreArg<LASTING> {
    /// The parser of an argument until [`with_stores`] replaces it.
    pub(super) fn unregistered(_: &str) -> Result<Self, Problem> {
        Err("no store is registered".into())
    }
}

/// The store that a command works on.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where the catalogue is
    #[arg(
        long,
        value_name = "URL",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) store: StoreArg<true>,
}

/// Gives every argument that names a store its parser, its lines of help, and its default.
pub(super) fn with_stores(command: Command, stores: &Arc<Registry>) -> Command {
    command
        .mut_args(|arg| with_parser::<true>(with_parser::<false>(arg, stores), stores))
        .mut_subcommands(|inner| with_stores(inner, stores))
}

fn with_parser<const LASTING: bool>(arg: Arg, stores: &Arc<Registry>) -> Arg {
    if arg.get_value_parser().type_id() != TypeId::of::<StoreArg<LASTING>>() {
        return arg;
    }
    let registry = Arc::clone(stores);
    let parse = move |url: &str| {
        let location = registry.parse(url, LASTING)?;
        Ok::<_, Problem>(StoreArg::<LASTING>(location, Arc::clone(&registry)))
    };
    let lines = stores.help(LASTING);
    let help = arg.get_help().map_or(lines.clone(), |help| format!("{help}:\n{lines}"));
    let has_default = arg.get_long() == Some("store") && stores.parse(DEFAULT, LASTING).is_ok();
    let arg = arg.value_parser(parse).help(help);
    if has_default { arg.required(false).default_value(DEFAULT) } else { arg }
}
