//! The command `config`, and the sources of settings: flags, variables, the settings file, and files with a secret.
//!
//! clap's definition is the only declaration of a setting. Only flags of `serve` have a variable and are keys of the
//! settings file. A value of the file becomes the default of its flag, so flags and variables take precedence. A flag
//! `--NAME` whose value may contain a password has a companion `--NAME-file`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, Subcommand, builder::Resettable, parser::ValueSource,
    value_parser,
};

use super::{
    config_file::{self, Values},
    refusal,
    values::{variable, variable_of},
};
use crate::{
    serve::ServeArgs,
    stores::StoreArg,
    system::{
        console::columns,
        failure::{Failure, quotable, quotable_path},
        files::read_secret,
    },
};

/// The flag that names the settings file.
const CONFIG: &str = "config";

/// The variable of the only setting without a flag.
const API_KEY: &str = "PETSTORE_API_KEY";

/// The largest number of unknown variables in warnings.
const MAX_UNKNOWN: usize = 10;

/// Commands for the settings of `serve`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting of serve, and where it comes from.
    ///
    /// Takes the flags of serve. A flag takes precedence over its variable, and a variable over the file of --config.
    /// Secrets are hidden.
    Show(Box<ServeArgs>),
    /// Check the settings of serve, and the key and certificate files that they name.
    ///
    /// Takes the flags of serve. The exit code is 0 if serve would accept the settings, and 2 otherwise. Does not open
    /// the store.
    Check(Box<ServeArgs>),
}

/// Adds the variable of each of `settings`, `--config` to each command that has a setting, and `--NAME-file` for each
/// secret.
pub(super) fn with_sources(command: Command, settings: &BTreeMap<String, bool>) -> Command {
    let file_arg = |name: String, help: String| {
        Arg::new(name.clone())
            .long(name)
            .value_name("FILE")
            .help(help)
            .value_parser(value_parser!(PathBuf))
    };
    let mut files: Vec<_> = secrets(&command)
        .map(|name| {
            let help = format!("File with the value of --{name}, which may contain a password");
            file_arg(file_of(name), help)
        })
        .collect();
    if command.get_arguments().filter_map(Arg::get_long).any(|flag| settings.contains_key(flag)) {
        let help = "TOML file of settings, whose keys are flags of serve; flags and variables take precedence";
        files.push(file_arg(CONFIG.to_owned(), help.to_owned()));
    }
    let command = command.args(files).mut_args(|arg| with_variable(arg, settings));
    command.mut_subcommands(|inner| with_sources(inner, settings))
}

/// Adds the variable of a setting, of its `--NAME-file`, or of `--config`. An empty variable counts as not set.
fn with_variable(arg: Arg, settings: &BTreeMap<String, bool>) -> Arg {
    let Some(name) = arg.get_long() else { return arg };
    let is_setting = |name: &str| name == CONFIG || settings.contains_key(name);
    let variable = variable_of(name);
    let is_empty = env::var_os(&variable).is_some_and(|value| value.is_empty());
    let has_variable = is_setting(name) || name.strip_suffix("-file").is_some_and(is_setting);
    if has_variable && !is_empty { arg.env(variable) } else { arg }
}

/// Returns the flags whose values may contain a password, which `hide_env_values` marks.
fn secrets(command: &Command) -> impl Iterator<Item = &str> {
    let secrets = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    secrets.filter_map(Arg::get_long)
}

/// Returns the flag that names a file with the value of `secret`.
fn file_of(secret: &str) -> String {
    format!("{secret}-file")
}

/// Returns the flags of `serve`, which are the keys of the settings file, and whether each takes several values.
pub(super) fn settings(root: &Command) -> BTreeMap<String, bool> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(|arg| {
        let name = arg.get_long().filter(|name| *name != CONFIG)?;
        Some((name.to_owned(), matches!(arg.get_action(), ArgAction::Append)))
    });
    flags.collect()
}

/// Returns one line for each unknown variable `PETSTORE_…`, at most [`MAX_UNKNOWN`] lines. Quotes no value, because it
/// may be a secret.
pub(crate) fn unknown_variables(
    root: &Command,
    variables: impl IntoIterator<Item = OsString>,
) -> Vec<String> {
    let mut known = settings(root);
    known.extend([CONFIG, "api-key"].map(|name| (name.to_owned(), false)));
    let names: BTreeSet<_> =
        variables.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
    // Kubernetes sets such variables for a Service named petstore.
    let has_service = names.contains("PETSTORE_SERVICE_HOST");
    let is_of_service = |name: &str| name.starts_with("SERVICE_") || name.starts_with("PORT");
    let unknown = names.iter().filter_map(|name| {
        let rest = name.strip_prefix("PETSTORE_")?;
        let flag = rest.to_lowercase().replace('_', "-");
        let is_known = known.keys().any(|known| variable_of(known) == *name);
        if is_known || has_service && is_of_service(rest) {
            return None;
        }
        let nearest = config_file::nearest(&flag, &known).map(variable_of);
        let hint = nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest}?"));
        Some(format!("{} is not a setting{hint}", quotable(name)))
    });
    unknown.take(MAX_UNKNOWN).collect()
}

/// The definition of the command line, with the values of files as defaults.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) definition: Command,
    /// The names of the subcommands on the command line.
    pub(super) path: Vec<String>,
    /// The file of each setting that a file gives, by the name of the flag.
    pub(super) origins: BTreeMap<String, PathBuf>,
    /// Flags whose values on the command line contain a password.
    pub(crate) passwords: Vec<String>,
}

impl Sources {
    /// Reads the files that the command line or variables name.
    pub(crate) fn read(words: &[OsString], root: &Command) -> Result<Self, Failure> {
        let mut read = Self {
            definition: root.clone(),
            path: Vec::new(),
            origins: BTreeMap::new(),
            passwords: Vec::new(),
        };
        // Parsing with all defaults reports invalid words later.
        let found = root.clone().ignore_errors(true).try_get_matches_from(words);
        let Ok(mut matches) = found else { return Ok(read) };
        let mut command = root;
        while let Some((name, inner)) = matches.remove_subcommand()
            && let Some(subcommand) = command.find_subcommand(&name)
        {
            (command, matches) = (subcommand, inner);
            read.path.push(name);
        }
        let config = matches.try_get_one::<PathBuf>(CONFIG).ok().flatten();
        let values = match config {
            Some(path) => config_file::read(path, &settings(root))?,
            None => Values::new(),
        };
        let mut args = Vec::new();
        for arg in command.get_arguments() {
            let Some(name) = arg.get_long() else { continue };
            let is_secret = arg.is_hide_env_values_set();
            let given = if is_secret {
                secret(name, &matches, &values, config)?
            } else {
                let values = values.get(name).filter(|_| !has_variable_of_its_content(name));
                values.cloned().zip(config.cloned())
            };
            // The file of a secret takes precedence over the variable of its value.
            let overrides_variable = is_secret && given.is_some();
            let is_on_command_line =
                matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
            if is_secret && is_on_command_line {
                let urls = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
                let shown = urls.filter(|url| has_password(&url.to_string_lossy()));
                read.passwords.extend(shown.map(|_| name.to_owned()));
            }
            if let Some(value) = arg
                .get_env()
                .filter(|_| !overrides_variable && !is_on_command_line)
                .and_then(variable)
            {
                check(arg, name, &[value.to_string_lossy().into_owned()], None)?;
            }
            let Some((values, origin)) = given else { continue };
            check(arg, name, &values, Some(&origin))?;
            let arg = arg.clone().required(false).default_values(values);
            args.push(if overrides_variable {
                arg.hide_default_value(true).env(Resettable::Reset)
            } else {
                arg
            });
            read.origins.insert(name.to_owned(), origin);
        }
        read.definition = with_args(read.definition, &read.path, &args);
        Ok(read)
    }
}

/// Returns whether the URL of a store contains a password.
fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

/// Replaces the arguments of the command at `path` that have the ids of `args`.
fn with_args(command: Command, path: &[String], args: &[Arg]) -> Command {
    match path.split_first() {
        Some((name, path)) => command.mut_subcommand(name, |inner| with_args(inner, path, args)),
        None => command.mut_args(|arg| {
            let new = args.iter().find(|new| new.get_id() == arg.get_id());
            new.cloned().unwrap_or(arg)
        }),
    }
}

/// Checks `values`, from `file` or from the variable of `arg`, with the parser of `arg`.
fn check(arg: &Arg, name: &str, values: &[String], file: Option<&Path>) -> Result<(), Failure> {
    let place = file.map_or_else(|| variable_of(name), quotable_path);
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        let are_bool = values.iter().all(|value| ["true", "false"].contains(&value.as_str()));
        let message = format!("{place}: '{name}' must be true or false");
        return if are_bool { Ok(()) } else { Err(Failure::usage(message)) };
    }
    let command = Command::new("petstore").no_binary_name(true).arg(arg.clone());
    let words = values.iter().map(|value| format!("--{name}={value}"));
    command.try_get_matches_from(words).map(drop).map_err(|error| {
        let source = if file.is_some() { format!("'{name}' in {place}") } else { place };
        Failure::usage(refusal::of_value(error, arg, &source))
    })
}

/// Returns the value of a secret from a file that a flag, a variable or the settings file names, in this order. Refuses
/// two forms of the secret with the same precedence.
fn secret(
    name: &str,
    matches: &ArgMatches,
    settings: &Values,
    config: Option<&PathBuf>,
) -> Result<Option<(Vec<String>, PathBuf)>, Failure> {
    let file = file_of(name);
    // The values of the settings file are defaults.
    let source = |name: &str| match matches.value_source(name) {
        Some(ValueSource::DefaultValue) | None => {
            settings.contains_key(name).then_some(ValueSource::DefaultValue)
        }
        given => given,
    };
    let (by_value, by_file) = (source(name), source(&file));
    if by_value.is_some() && by_value == by_file {
        let [one, other] = [name, &file].map(|name| match by_value {
            Some(ValueSource::CommandLine) => format!("--{name}"),
            Some(ValueSource::EnvVariable) => variable_of(name),
            _ => name.to_owned(),
        });
        let message = format!("both {one} and {other} are given; give one of them");
        return Err(Failure::usage(message));
    }
    if by_value >= by_file {
        let value = settings.get(name).filter(|_| by_value == Some(ValueSource::DefaultValue));
        return Ok(value.cloned().zip(config.cloned()));
    }
    let by_setting = settings.get(&file).map(|path| PathBuf::from(path.concat()));
    let named = matches.get_one::<PathBuf>(&file).cloned().or(by_setting);
    named.map(|path| Ok((vec![read_secret(&path, "")?], path))).transpose()
}

/// Returns whether the setting names a file whose content a variable gives.
fn has_variable_of_its_content(name: &str) -> bool {
    name.strip_suffix("-file").is_some_and(|content| variable(variable_of(content)).is_some())
}

/// Returns the output of `config show` for its command line `words`: one line for each setting, under headings.
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
            matches.get_one::<StoreArg>(id).map(|store| store.location.to_string())
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
