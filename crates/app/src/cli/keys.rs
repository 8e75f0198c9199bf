//! The commands `keys …`.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use petstore_domain::{KeyId, KeyName, KeySelector};

use super::{
    store_arg::{StoreArg, StoreArgs},
    values,
};

/// What to do with API keys. A running service honours a change within one second.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it on stdout; it is shown this once.
    Create {
        /// Name of the key: a letter, then up to 63 letters, digits, '.', '_' or '-'.
        #[arg(value_name = "NAME", value_parser = KeyName::parse)]
        name: KeyName,
        /// The key may list and fetch animals, and add none.
        #[arg(long)]
        read_only: bool,
        /// Lifetime of the key, for example 90d [default: until it is revoked].
        #[arg(long, value_name = "DURATION", value_parser = values::lifetime)]
        expires: Option<Duration>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List all keys, also revoked and expired ones, without the keys themselves.
    List {
        /// Form of the list.
        #[arg(long, value_name = "FORM", default_value = "table")]
        output: ListForm,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Revoke a key.
    Revoke {
        /// The key's identifier, or its name for every key that has it.
        #[arg(value_name = "ID|NAME", value_parser = selector)]
        target: KeySelector,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Replace a key: print a new one of the same name, and let the old one expire.
    Roll {
        /// The name of the key.
        #[arg(value_name = "NAME", value_parser = KeyName::parse)]
        name: KeyName,
        /// Time for which the old key stays valid.
        #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = values::overlap)]
        overlap: Duration,
        #[command(flatten)]
        store: StoreArgs,
    },
}

impl KeysCommand {
    /// Returns the store that the command works on.
    pub(crate) fn store(&self) -> &StoreArg {
        let (Self::Create { store, .. }
        | Self::List { store, .. }
        | Self::Revoke { store, .. }
        | Self::Roll { store, .. }) = self;
        &store.store
    }
}

/// How a list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListForm {
    /// In columns, for people.
    Table,
    /// An array of JSON objects, for programs.
    Json,
}

/// Reads which key is meant: digits are an identifier, anything else is a name.
fn selector(text: &str) -> Result<KeySelector, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = text.parse().map_err(|_| format!("the largest identifier is {}", i64::MAX))?;
        return Ok(KeySelector::Id(KeyId(id)));
    }
    let name = KeyName::parse(text);
    name.map(KeySelector::Name)
        .map_err(|error| format!("neither an identifier nor a name: {error}"))
}
