//! The command `config show`.

use clap::{Arg, ArgMatches, Args, Command, Subcommand, parser::ValueSource};

use super::{
    arguments::{Arguments, secrets, variable},
    serve::ServeArgs,
    store_arg::StoreArg,
};
use crate::columns::columns;

/// The variable of the one setting that has no flag.
const API_KEY: &str = "PETSTORE_API_KEY";

/// What to do with the settings of `serve`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting of serve that is in force, and where it comes from.
    ///
    /// It takes the flags of serve. A flag outweighs its variable, which outweighs the file that --config
    /// names. Secrets are hidden.
    #[command(after_help = super::examples::CONFIG)]
    Show(Box<ShowArgs>),
}

/// The settings of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) settings: ServeArgs,
    /// What is shown: only where the arguments are read is it known where each came from.
    #[arg(skip)]
    pub(crate) table: String,
}

/// A line for each setting, under headings. `matches` are those of `command`.
pub(super) fn table(command: &Command, matches: &ArgMatches, arguments: &Arguments) -> String {
    let secret: Vec<_> = secrets(command).collect();
    let secret_files: Vec<_> = secret.iter().map(|name| format!("{name}-file")).collect();
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned)];
    for arg in command.get_arguments() {
        let Some(name) = arg.get_long() else { continue };
        let is_source = secret_files.iter().any(|file| file == name);
        if is_source || ["config", "help"].contains(&name) {
            continue;
        }
        let value = if secret.contains(&name) {
            matches
                .get_one::<StoreArg<false>>(arg.get_id().as_str())
                .map(|store| store.0.to_string())
        } else {
            raw(matches, arg)
        };
        let from = from(name, arg, matches, arguments);
        rows.push([name.to_owned(), value.unwrap_or_else(|| "-".to_owned()), from]);
    }
    if variable(API_KEY).is_some() {
        rows.push(["api-key", "(hidden)", API_KEY].map(str::to_owned));
    }
    columns(&rows)
}

/// The value as it was written.
fn raw(matches: &ArgMatches, arg: &Arg) -> Option<String> {
    let values = matches.get_raw(arg.get_id().as_str())?;
    Some(values.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(", "))
}

fn from(name: &str, arg: &Arg, matches: &ArgMatches, arguments: &Arguments) -> String {
    if let Some(file) = arguments.origins.get(name) {
        return file.display().to_string();
    }
    match matches.value_source(arg.get_id().as_str()) {
        Some(ValueSource::CommandLine) => format!("--{name}"),
        Some(ValueSource::EnvVariable) => {
            arg.get_env().unwrap_or_default().to_string_lossy().into_owned()
        }
        _ => "default".to_owned(),
    }
}
