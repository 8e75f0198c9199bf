//! The command `config show`.

use std::ffi::{OsStr, OsString};

use clap::{Subcommand, parser::ValueSource};

use super::{
    serve::ServeArgs,
    settings::{CONFIG, Sources, file_of, secrets},
    store_arg::StoreArg,
    values::{variable, variable_of},
};
use crate::console::columns;

/// The variable of the one setting that has no flag.
const API_KEY: &str = "PETSTORE_API_KEY";

/// What to do with the settings of `serve`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting of serve that is in force, and where it comes from.
    ///
    /// It takes the flags of serve. A flag outweighs its variable, which outweighs the file that --config
    /// names. Secrets are hidden.
    Show(Box<ServeArgs>),
}

/// Returns what `config show` prints if these are its words: a line for each setting, under headings.
pub(crate) fn shown(sources: &Sources, words: &[OsString]) -> Option<String> {
    let command = sources.definition.find_subcommand("config")?.find_subcommand("show")?;
    let matches = sources.definition.clone().try_get_matches_from(words).ok()?;
    let matches = matches.subcommand_matches("config")?.subcommand_matches("show")?;
    let secrets: Vec<_> = secrets(command).collect();
    let is_shown =
        |name: &&str| *name != CONFIG && !secrets.iter().any(|secret| file_of(secret) == *name);
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned)];
    for arg in command.get_arguments() {
        let Some(name) = arg.get_long().filter(is_shown) else { continue };
        let id = arg.get_id().as_str();
        let value = if secrets.contains(&name) {
            matches.get_one::<StoreArg>(id).map(|store| store.0.to_string())
        } else {
            let values = matches.get_raw(id);
            values.map(|values| values.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(", "))
        };
        let from = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => format!("--{name}"),
            Some(ValueSource::EnvVariable) => variable_of(name),
            _ => {
                let file = sources.origins.get(name);
                file.map_or_else(|| "default".to_owned(), |file| file.display().to_string())
            }
        };
        rows.push([name.to_owned(), value.unwrap_or_else(|| "-".to_owned()), from]);
    }
    if variable(API_KEY).is_some() {
        rows.push(["api-key", "(hidden)", API_KEY].map(str::to_owned));
    }
    Some(columns(&rows))
}
